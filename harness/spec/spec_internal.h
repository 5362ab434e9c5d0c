/* Shared by the files of the sweep; nothing else includes it. */
#ifndef TAPER_HARNESS_SPEC_SPEC_INTERNAL_H
#define TAPER_HARNESS_SPEC_SPEC_INTERNAL_H

#include "harness/spec/spec.h"
#include "harness/spec/spec_yaml.h"

/* Runs to leave out: those whose configuration has all these values. */
struct spec_exclusion {
    int line, column;
    struct config values;
    const struct config_key **keys;
    int count;
    int variant; /* index, -1: any */
    bool matched;
};

struct spec_parse {
    struct yaml_reader reader;
    struct spec *spec;
    const char *directory; /* where relative paths start */
    struct spec_exclusion *exclusions;
    int exclusion_count;
    bool variants_given;
    int grid_line, grid_column; /* of the section, or of the document */
};

/* Sections, each from its value; faults go to the reader. */
void spec_read_base(struct spec_parse *p, const yaml_node_t *node);
void spec_read_variants(struct spec_parse *p, const yaml_node_t *node);
void spec_read_grid(struct spec_parse *p, const yaml_node_t *node);
void spec_read_search(struct spec_parse *p, const yaml_node_t *node);  /* after the grid */
void spec_read_stop(struct spec_parse *p, const yaml_node_t *node);    /* of the search */
void spec_read_exclude(struct spec_parse *p, const yaml_node_t *node); /* after the variants */
void spec_read_after(struct spec_parse *p, const yaml_node_t *node);
void spec_read_run(struct spec_parse *p, const yaml_node_t *node);
void spec_read_slurm(struct spec_parse *p, const yaml_node_t *node); /* of `run` */

/* Variants and grid -> points. Only when there are no faults yet. */
void spec_expand(struct spec_parse *p);

/* Fill in what a run's init.from leads to (spec_initial.c), reading the weights the first time only. */
int spec_resolve(struct spec *spec, struct config *cfg, struct error *err);

/* Every init.run must name another variant that has a run at the same point, and lead to one that needs none. */
void spec_check_needs(struct spec_parse *p);

/* The value of init.run as it may be written, NAME or {variant: NAME, seed: same}; NULL after a fault. */
const char *spec_read_needed(struct spec_parse *p, const yaml_node_t *node);

/* The same where it was done before. */
void spec_resolved(const struct spec *spec, struct config *cfg);

/* Are two configurations equal in one key? */
bool spec_same_value(const struct config_key *key, const struct config *a, const struct config *b);

/* An entry's value for a key, checked against a scratch configuration, paths made absolute; on the heap. NULL after
 * a fault. */
char *spec_read_value(struct spec_parse *p, struct config *scratch, const struct config_key *key,
                      const yaml_node_t *node);

/* Whether a finished configuration can be stopped at the search's rungs; else what is wrong, into text. */
bool spec_check_stop(const struct spec *spec, const struct config *cfg, char *text, size_t room);

/* Do the conditions of a drawn key hold in a configuration that has the rest of its values? */
bool spec_drawn_here(const struct spec_axis *axis, const struct config *cfg);

/* true or false, or a fault. */
bool spec_read_bool(struct spec_parse *p, const char *name, const yaml_node_t *node, bool *out);

/* Strict decimal integer within bounds, or a fault. */
bool spec_read_integer(struct spec_parse *p, const char *name, const yaml_node_t *node, int64_t low, int64_t high,
                       int64_t *out);

#endif
