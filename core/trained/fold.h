/* Folding: at gate 0 a tapered site is an affine map, and the projection behind it takes it in.
 *
 *   RMSNorm:   y = c h gamma_tilde, so W <- W diag(c gamma_tilde)                              (docs/equations.md
 * section 1) LayerNorm: also centres and shifts, so W <- W diag(c gamma_tilde) (I - 11^T/d) and b <- b + W beta_tilde
 *
 * An attention norm goes into the QKV projection, an MLP norm into the MLP's input projection, the final norm into the
 * head, which is untied for it. All arithmetic is in double and rounded once. */
#ifndef TAPER_CORE_TRAINED_FOLD_H
#define TAPER_CORE_TRAINED_FOLD_H

#include "core/model/model.h"
#include "core/trained/compare.h"

/* Fold every tapered site of `from` (which has some, and no absent ones) into a new model on the same backend; the
 * caller destroys it. The gate is taken as 0 whatever it was. Errors: out of memory. */
int fold_model(const struct model *from, struct model *folded, struct error *err);

/* Compare the logits of two models of one configuration, one folded, at gate 0, on `count` windows of T tokens.
 * Windows are of cfg.context tokens or fewer. windows [count][T] host memory. */
int fold_verify(struct model *plain, struct model *folded, const int32_t *windows, int count, int T,
                struct logits_difference *out, struct error *err);

#endif
