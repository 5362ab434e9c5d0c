# Fine-tuning: training and validation loss against the step, and the validation loss against the vanilla row's.
panels = 3
array panel_row[3] = [1, 3, 4]
array panel_over[3] = [0, 0, 0]
array panel_label[3] = ["training, nats", "validation, nats", "change, %"]
array panel_scale[3] = ["", "", "zero"]
array panel_empty[3] = ["no step logged yet", "no evaluation yet", "no evaluation beside the vanilla row's"]
