# Logit chasing: the RMS of the logits against the step.
panels = 1
array panel_row[1] = [1]
array panel_over[1] = [0]
array panel_label[1] = ["RMS of the logits"]
array panel_scale[1] = [""]
array panel_empty[1] = ["no step logged yet"]
