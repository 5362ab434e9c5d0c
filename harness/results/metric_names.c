#include "harness/results/metric_names.h"

#include <stddef.h>
#include <string.h>

const char *const metric_of_steps[] = {
    "ce",           "aux",        "lr",           "gate",      "grad_norm",  "scale_mean",
    "scale_std",    "scale_max",  "scale_target", "logit_rms", "logit_max",  "logit_std",
    "margin",       "p_correct",  "entropy",      "radial",    "radial_rms", "tangential_rms",
    "radial_share", "aux_radial", "ms",           "leading",   "bounded",    NULL};
const char *const metric_of_sites[] = {"c", "agreement", "scale_mean", "gamma_norm", "gamma_tilde_norm", NULL};

const char *metric_among(const char *const *list, const char *name)
{
    for (; *list; list++)
        if (strcmp(*list, name) == 0)
            return *list;
    return NULL;
}
