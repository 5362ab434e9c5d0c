# The gradient at h: its radial part, which only a missing final norm lets through, and the tangential one.
panels = 2
array panel_row[2] = [1, 3]
array panel_over[2] = [0, 0]
array panel_label[2] = ["radial, mean", "tangential, RMS"]
array panel_scale[2] = ["", "log"]
