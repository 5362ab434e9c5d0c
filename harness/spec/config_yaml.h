/* A YAML file of dotted keys, loaded into a configuration: what `taper train FILE` takes. */
#ifndef TAPER_HARNESS_SPEC_CONFIG_YAML_H
#define TAPER_HARNESS_SPEC_CONFIG_YAML_H

#include <stdio.h>

#include "core/config/config.h"
#include "core/base/error.h"

/* Set every key of the file; cfg is not finished, so that --set may follow. As strict as a sweep (harness/spec/spec.h):
 * on failure cfg is unchanged, every fault goes to `report`, a line each, and err says how many; with report NULL
 * err holds as many as fit. Paths stay as written. */
int config_load_yaml(struct config *cfg, const char *path, FILE *report, struct error *err);

#endif
