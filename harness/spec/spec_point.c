/* The points of a grid as JSON: which values of the keys that take several a run stands for. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/memory.h"
#include "harness/spec/spec.h"

struct spec_points {
    const struct spec *spec;
    char ***parts; /* [axis][value]: "key":value; NULL for an axis of one value */
};

/* "key":value of the axis' value k, typed as config_to_json has it. */
static char *make_part(const struct spec_axis *axis, int k)
{
    struct config cfg;
    config_init(&cfg);
    config_set(&cfg, axis->key->name, axis->values[k], NULL); /* was checked when it was read */
    json_t *all = config_to_json(&cfg);
    char *value = json_dumps(json_object_get(all, axis->key->name), JSON_ENCODE_ANY | JSON_REAL_PRECISION(17));
    char *part = memory_format("\"%s\":%s", axis->key->name, value);
    free(value);
    json_decref(all);
    return part;
}

struct spec_points *spec_points_create(const struct spec *spec)
{
    struct spec_points *p = memory_alloc(1, sizeof *p);
    *p = (struct spec_points){spec, memory_alloc((size_t)spec->axis_count + 1, sizeof *p->parts)};
    for (int a = 0; a < spec->axis_count; a++) {
        const struct spec_axis *axis = &spec->axes[a];
        p->parts[a] = axis->count > 1 ? memory_alloc((size_t)axis->count, sizeof **p->parts) : NULL;
        for (int k = 0; p->parts[a] && k < axis->count; k++)
            p->parts[a][k] = make_part(axis, k);
    }
    return p;
}

void spec_points_destroy(struct spec_points *p)
{
    if (!p)
        return;
    for (int a = 0; a < p->spec->axis_count; a++) {
        for (int k = 0; p->parts[a] && k < p->spec->axes[a].count; k++)
            free(p->parts[a][k]);
        free(p->parts[a]);
    }
    free(p->parts);
    free(p);
}

char *spec_bracket(const struct spec_points *p, int64_t i)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    const char *before = " {";
    fputs(p->spec->variants[p->spec->points[i] % p->spec->variant_count].name, out);
    for (int a = 0; a < p->spec->axis_count; a++) {
        const struct spec_axis *axis = &p->spec->axes[a];
        if (!p->parts[a] || axis->sampled || strncmp(axis->key->name, "seed", 4) == 0)
            continue;
        fprintf(out, "%s%s", before, p->parts[a][spec_run_place(p->spec, i, a)]);
        before = ",";
    }
    fputs(*before == ',' ? "}" : "", out);
    fclose(out);
    return text;
}

char *spec_point(const struct spec_points *p, int64_t i)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    const char *before = "{";
    for (int a = 0; a < p->spec->axis_count; a++) {
        if (!p->parts[a])
            continue;
        fprintf(out, "%s%s", before, p->parts[a][spec_run_place(p->spec, i, a)]);
        before = ",";
    }
    fputs(*before == '{' ? "{}" : "}", out);
    fclose(out);
    return text;
}
