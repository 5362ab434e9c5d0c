# The scale of the residual stream before the final norm, and its target (thin dots).
panels = 1
array panel_row[1] = [1]
array panel_over[1] = [3]
array panel_label[1] = ["mean s(h); thin dots: target"]
array panel_scale[1] = ["wide"]
array panel_empty[1] = ["no step logged yet"]
