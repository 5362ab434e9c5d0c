# The gradient at h: its radial part, which only a missing final norm lets through, beside the auxiliary loss's, which
# pulls back; the radial part's RMS, since a signed mean hides what cancels; and the tangential part.
panels = 3
array panel_row[3] = [1, 3, 4]
array panel_over[3] = [5, 0, 0]
array panel_label[3] = ["radial; thin dots: aux", "radial, RMS", "tangential, RMS"]
array panel_scale[3] = ["", "wide", "wide"]
array panel_empty[3] = ["no step logged yet", "no step logged yet", "no step logged yet"]
