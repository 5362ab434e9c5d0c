-- Rows 1: training loss; 2: the gate; 3: validation loss; 4: its change, in percent.
SELECT grp, row, seed, x, y FROM loss_drawn
