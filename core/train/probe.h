/* The numbers of one logged step: docs/equations.md section 2, from the sums over its tokens (enum token_sum). */
#ifndef TAPER_CORE_TRAIN_PROBE_H
#define TAPER_CORE_TRAIN_PROBE_H

#include <jansson.h>

#include "core/model/transformer.h"

/* One row of the `step` table. Means are over all tokens of the step (every micro-batch). */
struct step_stats {
    double ce, aux; /* mean cross-entropy (nats); aux loss, lambda included */
    double scale_mean, scale_std, scale_max,
        scale_target;                  /* s(h) before the final norm; target NaN while there is none */
    double logit_rms, logit_max;       /* root mean square and largest |z| over all logits */
    double logit_std;                  /* root of the mean over tokens of the variance of z over the vocabulary */
    double margin, p_correct, entropy; /* mean z_y - max_other, softmax(z)_y, entropy (nats) */
    double radial, radial_rms;         /* mean and root mean square of <G,h>/|h|, G = d ce_token / d h */
    double tangential_rms;             /* root mean square of |G - radial part| */
    double radial_share;               /* radial energy / all energy of G */
    double leading;                    /* share of the tokens whose correct class leads: margin > 0 */
    double bounded;                    /* share of these with <G,h> <= -(1 - p_y) margin, to 1%: proposition 2. NaN when
                                          there is none, and with LayerNorm, whose sigma(h) does not give |h| */
    double aux_radial;                 /* mean of <d(lambda (s - s_tgt)^2)/dh, h>/|h| a token */
};

/* One row of the `site_step` table. */
struct site_stats {
    double c;          /* frozen c, or its running estimate during calibration; NaN at a site that is not tapered */
    double scale_mean; /* mean s at this site */
    double agreement;  /* c * scale_mean: 1 when both branches agree */
    double gamma_norm, gamma_tilde_norm; /* Euclidean norms; NaN where there is no such vector */
};

/* Add what the arrays of a pass sum up to: with statistics all of it, else the loss alone; aux: the pass had the aux
 * loss on. Enqueues only. sums [TOKEN_SUMS], backend memory. */
void probe_add(double *sums, const struct model *m, const struct activations *a, bool statistics, bool aux);

/* A step's numbers from its sums, over so many tokens and classes of the loss; aux and scale_target are left to the
 * caller. */
void probe_finish(const double sums[TOKEN_SUMS], double tokens, int64_t classes, struct step_stats *out);

/* Put the fields into a JSON object under their column names. */
void probe_step_to_json(const struct step_stats *s, json_t *object);
json_t *probe_site_to_json(const char *site, const struct site_stats *s);

#endif
