/* Runs of a sweep that begin with what others end with. */
#include <stdlib.h>
#include <string.h>

#include "harness/spec/spec_internal.h"

const char *spec_read_needed(struct spec_parse *p, const yaml_node_t *node)
{
    static const char *const words[] = {"variant", "seed", NULL};
    const char *found = NULL;
    struct yaml_map map;
    if (node->type != YAML_MAPPING_NODE)
        return yaml_scalar(&p->reader, node, "init.run");
    yaml_flatten(&p->reader, node, "init.run: want a variant, or {variant: NAME, seed: same}", 3, &map);
    for (int i = 0; i < map.count; i++) {
        const struct yaml_entry *e = &map.entries[i];
        const char *text = yaml_scalar(&p->reader, e->value, e->key);
        if (strcmp(e->key, "variant") == 0)
            found = text;
        else if (strcmp(e->key, "seed") != 0)
            yaml_unknown_key(&p->reader, e, "init.run", words);
        else if (text && strcmp(text, "same") != 0)
            yaml_fault_at(&p->reader, e->value,
                          "init.run.seed: want same (a run begins with one of its own point), got '%s'", text);
    }
    if (map.count > 0 && !found)
        yaml_fault_at(&p->reader, node, "init.run: want a variant, as in {variant: pretrain, seed: same}");
    free(map.entries);
    return found;
}

static int variant_named(const struct spec *spec, const char *name)
{
    for (int v = 0; v < spec->variant_count; v++)
        if (strcmp(spec->variants[v].name, name) == 0)
            return v;
    return -1;
}

static int compare_points(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

/* Most sweeps have none, and need not look at each run. */
static bool has_needs(const struct spec *spec)
{
    bool found = spec->base.init_run[0];
    for (int a = 0; a < spec->axis_count; a++)
        found |= strcmp(spec->axes[a].key->name, "init.run") == 0;
    for (int v = 0; v < spec->variant_count; v++)
        for (int i = 0; i < spec->variants[v].count; i++)
            found |= strcmp(spec->variants[v].pairs[i].key->name, "init.run") == 0;
    return found;
}

int64_t spec_run_needed(const struct spec *spec, int64_t i)
{
    struct config cfg;
    if (!has_needs(spec))
        return -1;
    spec_run(spec, i, &cfg);
    const int variant = cfg.init_run[0] ? variant_named(spec, cfg.init_run) : -1;
    const int64_t wanted = spec->points[i] / spec->variant_count * spec->variant_count + variant;
    const int64_t *found =
        variant < 0 ? NULL : bsearch(&wanted, spec->points, (size_t)spec->run_count, sizeof wanted, compare_points);
    return found ? found - spec->points : -1;
}

void spec_begin_with(struct config *cfg, const char *needed)
{
    struct error err = {0};
    snprintf(cfg->init_digest, sizeof cfg->init_digest, CONFIG_OF_RUN "%s", needed);
    if (config_finish(cfg, &err)) {
        fprintf(stderr, "taper: %s\n", err.text); /* it was finished before */
        abort();
    }
}

/* Where the chain of what run i needs ends; -1 when it never does. */
static int64_t first_of(const struct spec *spec, int64_t i)
{
    for (int steps = 0; steps <= spec->variant_count; steps++) {
        const int64_t needed = spec_run_needed(spec, i);
        if (needed < 0)
            return i;
        i = needed;
    }
    return -1;
}

void spec_check_needs(struct spec_parse *p)
{
    const struct spec *spec = p->spec;
    int told = -1; /* once a variant */
    if (!has_needs(spec))
        return;
    for (int64_t i = 0; i < spec->run_count; i++) {
        struct config cfg;
        const int v = spec_run(spec, i, &cfg);
        const struct spec_variant *variant = &spec->variants[v];
        if (!cfg.init_run[0] || v == told)
            continue;
        told = v;
        if (variant_named(spec, cfg.init_run) < 0)
            yaml_fault_place(&p->reader, p->variants_given ? variant->line : p->grid_line,
                             p->variants_given ? variant->column : p->grid_column,
                             "variant %s: init.run: there is no variant '%s'", variant->name, cfg.init_run);
        else if (spec_run_needed(spec, i) < 0)
            yaml_fault_place(&p->reader, variant->line, variant->column,
                             "variant %s: init.run: variant %s has no run at this point: exclude leaves it out",
                             variant->name, cfg.init_run);
        else if (first_of(spec, i) < 0)
            yaml_fault_place(&p->reader, variant->line, variant->column,
                             "variant %s: init.run: %s needs this one in turn", variant->name, cfg.init_run);
        else
            told = -1;
    }
}
