-- The end of training against one key of the taper: a row a run and key.
SELECT a.grp, a.key, a.size, a.label, a.value, a.rest, a.seed, a.state, a.val_loss, a.val_loss_raw, a.change, a.logit_rms
FROM ablation a
ORDER BY instr('gate.end gate.shape aux.lambda', a.key), a.d_model, a.size, a.label, a.rest, a.place, a.seed
