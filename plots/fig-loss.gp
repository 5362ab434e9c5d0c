# Training and validation loss against the step.
panels = 2
array panel_row[2] = [1, 3]
array panel_over[2] = [0, 0]
array panel_label[2] = ["training loss, nats", "validation loss, nats"]
array panel_scale[2] = ["", ""]
