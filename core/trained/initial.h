/* What a run begins with instead of random weights (init.from): a checkpoint, a run's directory, or a folder of Hugging
 * Face. Its weights are named by a digest, which is part of the run's name; it must still be theirs when they are read.
 */
#ifndef TAPER_CORE_TRAINED_INITIAL_H
#define TAPER_CORE_TRAINED_INITIAL_H

#include "core/train/trainer.h"

/* Of a configuration with init.from that is not finished: fill in init.digest where it is empty, reading all of the
 * weights, and make data.tokenizer `auto` the one that came with them. One that is given must do the same as theirs,
 * where they have one. Nothing without init.from. STATUS_BAD_INPUT names the key and the path. */
int initial_resolve(struct config *cfg, struct error *err);

/* Of a finished configuration with init.run, whose run's directory is `dir`: make init.run the init.from that it stands
 * for, the directory of the other run beside this one. Finished again. Nothing without init.run. */
int initial_of_run(struct config *cfg, const char *dir, struct error *err);

/* Give a new run its weights, and with init.optimizer keep the moments and step counts of its optimizer; the steps
 * begin with 1 all the same. As train_options.begin; arg is not used. STATUS_BAD_INPUT: the weights have changed, they
 * are of another architecture (every key is named), or their norms are no longer real. */
int initial_load(void *arg, struct trainer *t, struct error *err);

#endif
