/* From a sweep's grid and variants to its runs. */
#include <stdlib.h>
#include <string.h>

#include "core/base/memory.h"
#include "harness/spec/spec_internal.h"

enum { TEXTS_KEPT = 64 };

/* What is wrong with some of the runs: told once, with the first run it is wrong with. */
struct complaint {
    char *text, *where;
    int line, column;
    int64_t runs;
};

struct complaints {
    struct complaint list[TEXTS_KEPT];
    int count;
};

static void set_checked(struct config *cfg, const struct config_key *key, const char *value)
{
    struct error err = {0};
    if (config_set(cfg, key->name, value, &err)) {
        fprintf(stderr, "taper: %s\n", err.text); /* every value was checked when it was read */
        abort();
    }
}

/* Which of an axis' values a point has: the samples are the odometer's slowest wheel. */
static int64_t place_of(const struct spec *spec, int64_t point, int axis)
{
    for (int a = spec->axis_count - 1; a >= 0; a--) {
        if (spec->axes[a].sampled)
            continue;
        if (a == axis)
            return point % spec->axes[a].count;
        point /= spec->axes[a].count;
    }
    return point;
}

static void set_variant(const struct spec_variant *v, struct config *cfg)
{
    for (int i = 0; i < v->count; i++)
        set_checked(cfg, v->pairs[i].key, v->pairs[i].value);
}

/* The configuration of a point and a variant, not finished. A drawn key's conditions are about all that is not drawn,
 * the variant's keys too, which win over it. */
static void compose(const struct spec *spec, int64_t point, int variant, struct config *cfg)
{
    const struct spec_variant *v = &spec->variants[variant];
    int drawn = 0;
    *cfg = spec->base;
    for (int a = 0; a < spec->axis_count; a++) {
        const struct spec_axis *axis = &spec->axes[a];
        drawn += axis->sampled;
        if (!axis->sampled)
            set_checked(cfg, axis->key, axis->values[place_of(spec, point, a)]);
    }
    set_variant(v, cfg);
    if (drawn == 0)
        return;
    const struct config settled = *cfg;
    for (int a = 0; a < spec->axis_count; a++) {
        const struct spec_axis *axis = &spec->axes[a];
        if (axis->sampled && spec_drawn_here(axis, &settled))
            set_checked(cfg, axis->key, axis->values[place_of(spec, point, a)]);
    }
    set_variant(v, cfg);
}

int spec_run(const struct spec *spec, int64_t i, struct config *cfg)
{
    int64_t point = spec->points[i] / spec->variant_count;
    int variant = (int)(spec->points[i] % spec->variant_count);
    struct error err = {0};
    compose(spec, point, variant, cfg);
    spec_resolved(spec, cfg);
    if (config_finish(cfg, &err)) {
        fprintf(stderr, "taper: %s\n", err.text); /* spec_expand finished it once already */
        abort();
    }
    return variant;
}

int spec_run_place(const struct spec *spec, int64_t i, int axis)
{
    return (int)place_of(spec, spec->points[i] / spec->variant_count, axis);
}

const char *spec_run_value(const struct spec *spec, int64_t i, int axis)
{
    return spec->axes[axis].values[spec_run_place(spec, i, axis)];
}

static bool sets(const struct spec_variant *v, const struct config_key *key)
{
    for (int i = 0; i < v->count; i++)
        if (v->pairs[i].key == key)
            return true;
    return false;
}

/* Does any run have the values that are drawn for a key? */
static bool is_drawn(const struct spec *spec, const struct spec_axis *axis)
{
    for (int64_t i = 0; i < spec->run_count; i++) {
        const int variant = (int)(spec->points[i] % spec->variant_count);
        struct config cfg;
        if (sets(&spec->variants[variant], axis->key))
            continue;
        compose(spec, spec->points[i] / spec->variant_count, variant, &cfg);
        if (spec_drawn_here(axis, &cfg))
            return true;
    }
    return false;
}

static void check_drawn(struct spec_parse *p)
{
    for (int a = 0; a < p->spec->axis_count; a++)
        if (p->spec->axes[a].sampled && !is_drawn(p->spec, &p->spec->axes[a]))
            yaml_fault_place(&p->reader, p->grid_line, p->grid_column,
                             "search: %s is drawn for no run: its variants set it themselves, or `when` never holds",
                             p->spec->axes[a].key->name);
}

static bool excludes(const struct spec_exclusion *x, const struct config *cfg, int variant)
{
    if (x->variant >= 0 && x->variant != variant)
        return false;
    for (int i = 0; i < x->count; i++)
        if (!spec_same_value(x->keys[i], cfg, &x->values))
            return false;
    return true;
}

/* "variant all, model.size 1M, seed 0" */
static char *describe(const struct spec_parse *p, int64_t point, int variant)
{
    const struct spec *spec = p->spec;
    char *text = p->variants_given ? memory_format("variant %s", spec->variants[variant].name) : memory_string("");
    for (int a = 0; a < spec->axis_count; a++) {
        char *longer = memory_format("%s%s%s %s", text, *text ? ", " : "", spec->axes[a].key->name,
                                     spec->axes[a].values[place_of(spec, point, a)]);
        free(text);
        text = longer;
    }
    return text;
}

static void complain(struct spec_parse *p, struct complaints *c, const char *text, int64_t point, int variant)
{
    for (int i = 0; i < c->count; i++)
        if (strcmp(c->list[i].text, text) == 0) {
            c->list[i].runs++;
            return;
        }
    if (c->count == TEXTS_KEPT)
        return;
    const struct spec_variant *v = &p->spec->variants[variant];
    c->list[c->count++] =
        (struct complaint){memory_string(text), describe(p, point, variant), p->variants_given ? v->line : p->grid_line,
                           p->variants_given ? v->column : p->grid_column, 1};
}

/* One complaint a line of the error. */
static void complain_lines(struct spec_parse *p, struct complaints *c, char *lines, int64_t point, int variant)
{
    for (char *line = lines, *next; line; line = next) {
        next = strchr(line, '\n');
        if (next)
            *next++ = '\0';
        complain(p, c, line, point, variant);
    }
}

/* A benchmark cannot read further than the model sees. */
static void check_after(struct spec_parse *p, struct complaints *c, const struct config *cfg, int64_t point,
                        int variant)
{
    for (int k = 0; k < BENCH_KINDS; k++) {
        const struct spec_bench *bench = &p->spec->after.bench[k];
        for (int i = 0; i < bench->contexts; i++)
            if (bench->context[i] > cfg->context) {
                char text[160];
                snprintf(text, sizeof text, "after.bench.%s.context: %lld is more than model.context %lld",
                         spec_bench_name(k), (long long)bench->context[i], (long long)cfg->context);
                complain(p, c, text, point, variant);
            }
    }
}

/* A stop that no run can keep is told where it stands. */
static void check_stop(struct spec_parse *p, const struct config *cfg)
{
    struct spec_stop *stop = &p->spec->stop;
    char text[256];
    if (spec_check_stop(p->spec, cfg, text, sizeof text))
        return;
    yaml_fault_place(&p->reader, stop->line, stop->column, "%s", text);
    stop->policy = SPEC_STOP_NONE; /* once is enough */
}

static void expand_one(struct spec_parse *p, struct complaints *c, int64_t point, int variant)
{
    struct spec *spec = p->spec;
    struct config cfg;
    struct error err = {0};
    compose(spec, point, variant, &cfg);
    int status = spec_resolve(spec, &cfg, &err);
    if (!status)
        status = config_finish(&cfg, &err);
    bool excluded = false;
    for (int i = 0; i < p->exclusion_count; i++)
        if (excludes(&p->exclusions[i], &cfg, variant))
            excluded = p->exclusions[i].matched = true;
    if (excluded)
        return;
    if (status)
        complain_lines(p, c, err.text, point, variant);
    else
        check_stop(p, &cfg);
    check_after(p, c, &cfg, point, variant);
    spec->points[spec->run_count++] = point * spec->variant_count + variant;
}

static void tell(struct spec_parse *p, struct complaints *c)
{
    for (int i = 0; i < c->count; i++) {
        struct complaint *it = &c->list[i];
        char more[64] = "";
        if (it->runs > 1)
            snprintf(more, sizeof more, " (and %lld more run%s)", (long long)it->runs - 1, it->runs == 2 ? "" : "s");
        yaml_fault_place(&p->reader, it->line, it->column, "%s%s%s%s", it->where, *it->where ? ": " : "", it->text,
                         more);
        free(it->text);
        free(it->where);
    }
    for (int i = 0; i < p->exclusion_count; i++)
        if (!p->exclusions[i].matched)
            yaml_fault_place(&p->reader, p->exclusions[i].line, p->exclusions[i].column, "exclude: matches no run");
    if (p->spec->run_count == 0)
        yaml_fault_place(&p->reader, p->grid_line, p->grid_column, "every run is excluded");
}

void spec_expand(struct spec_parse *p)
{
    struct spec *spec = p->spec;
    int64_t points = spec->samples;
    for (int a = 0; a <= spec->axis_count; a++) {
        if (points * spec->variant_count > SPEC_RUNS_MOST) {
            yaml_fault_place(&p->reader, p->grid_line, p->grid_column, "%s the variants make more than %d runs",
                             spec->samples > 1 ? "the grid, the samples and" : "the grid and", SPEC_RUNS_MOST);
            return;
        }
        if (a < spec->axis_count && !spec->axes[a].sampled)
            points *= spec->axes[a].count; /* both are at most SPEC_RUNS_MOST: no overflow */
    }
    struct complaints *c = memory_alloc(1, sizeof *c);
    spec->points = memory_alloc((size_t)(points * spec->variant_count), sizeof *spec->points);
    for (int64_t point = 0; point < points; point++)
        for (int v = 0; v < spec->variant_count; v++)
            expand_one(p, c, point, v);
    tell(p, c);
    free(c);
    if (p->reader.fault_count == 0)
        check_drawn(p);
    if (p->reader.fault_count == 0)
        spec_check_needs(p);
}
