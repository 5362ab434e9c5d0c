#include "harness/verbs/spec_print.h"

#include <stdlib.h>
#include <string.h>

#include "harness/daemon/submit.h"
#include "harness/verbs/cmd_data.h"
#include "core/base/memory.h"

struct printing {
    const struct config_key *keys[CONFIG_KEYS_MOST]; /* that differ between runs, in the order of first use */
    int count;
};

static void add_key(struct printing *p, const struct config_key *key)
{
    for (int i = 0; i < p->count; i++)
        if (p->keys[i] == key)
            return;
    p->keys[p->count++] = key;
}

static struct listing *begin(const struct printing *p, bool ids, bool states, FILE *out, enum listing_format format)
{
    const char *names[CONFIG_KEYS_MOST + 3];
    int count = 0;
    if (ids)
        names[count++] = "run";
    names[count++] = "variant";
    for (int i = 0; i < p->count; i++)
        names[count++] = p->keys[i]->name;
    if (states)
        names[count++] = "state";
    return listing_begin(out, format, names, count);
}

static void put_state(struct listing *t, struct store *s, const char *id)
{
    struct store_run run;
    listing_text(t, store_run_find(s, id, &run, NULL) == STATUS_OK ? run_state_name(run.state) : NULL);
}

/* A run as a sweep holds it: once under each variant's name. */
struct member {
    char id[CONFIG_ID];
    int variant;
};

static int compare_members(const void *x, const void *y)
{
    const struct member *a = x, *b = y;
    int order = strcmp(a->id, b->id);
    return order ? order : a->variant - b->variant;
}

static int64_t count_doubles(struct member *members, int64_t count)
{
    int64_t doubles = 0;
    qsort(members, (size_t)count, sizeof *members, compare_members);
    for (int64_t i = 1; i < count; i++)
        doubles += compare_members(&members[i - 1], &members[i]) == 0;
    return doubles;
}

/* The digests of the data at hand; neighbours mostly share theirs. */
struct data_digests {
    struct config of;
    bool known;
    char corpus[65], tokenizer[65];
};

/* The name of run i and its configuration, of those that it needs first. */
static int name_run(const struct spec *spec, int64_t i, store_digests *digests, struct data_digests *data,
                    struct config *cfg, char id[CONFIG_ID], struct error *err)
{
    const int64_t before = spec_run_needed(spec, i);
    char needed[CONFIG_ID];
    int status = before < 0 ? STATUS_OK : name_run(spec, before, digests, data, cfg, needed, err);
    spec_run(spec, i, cfg);
    if (!status && before >= 0)
        spec_begin_with(cfg, needed);
    const struct config *of = &data->of;
    const bool same = data->known && cfg->vocab == of->vocab && cfg->corpus_size == of->corpus_size &&
                      cfg->corpus_seed == of->corpus_seed && strcmp(cfg->corpus, of->corpus) == 0 &&
                      strcmp(cfg->tokenizer, of->tokenizer) == 0 && strcmp(cfg->valid, of->valid) == 0;
    if (!status && !same)
        status = digests(cfg, data->corpus, data->tokenizer, err);
    if (status)
        return status;
    data->of = *cfg;
    data->known = true;
    config_identity(cfg, data->corpus, data->tokenizer, id);
    return STATUS_OK;
}

int spec_print(const struct spec *spec, store_digests *digests, struct store *s, FILE *out, enum listing_format format,
               int64_t *doubles, struct error *err)
{
    struct printing p = {.count = 0};
    struct data_digests data = {.known = false};
    char id[CONFIG_ID] = "", text[CONFIG_TEXT];
    for (int a = 0; a < spec->axis_count; a++)
        add_key(&p, spec->axes[a].key);
    for (int v = 0; v < spec->variant_count; v++)
        for (int i = 0; i < spec->variants[v].count; i++)
            add_key(&p, spec->variants[v].pairs[i].key);
    bool states = digests && s;
    struct listing *t = begin(&p, digests != NULL, states, out, format);
    struct member *members = memory_alloc((size_t)spec->run_count + 1, sizeof *members);
    int64_t named = 0;
    int status = STATUS_OK;
    for (int64_t i = 0; !status && i < spec->run_count; i++) {
        struct config cfg;
        int variant = spec_run(spec, i, &cfg);
        if (digests)
            status = name_run(spec, i, digests, &data, &cfg, id, err);
        if (status)
            break;
        if (digests) {
            listing_text(t, id);
            memcpy(members[named].id, id, sizeof id);
            members[named++].variant = variant;
        }
        listing_text(t, spec->variants[variant].name);
        for (int k = 0; k < p.count; k++)
            listing_text(t, config_get(&cfg, p.keys[k], text));
        if (states)
            put_state(t, s, id);
    }
    *doubles = count_doubles(members, named);
    free(members);
    int end = listing_end(t, status ? NULL : err);
    return status ? status : end;
}

int64_t spec_workers(const struct spec *spec)
{
    struct {
        char name[CONFIG_ID];
        int64_t runs;
    } *shapes = NULL;
    size_t count = 0;
    int64_t workers = 0;
    if (spec->limits.pack < 2)
        return spec->run_count;
    for (int64_t i = 0; i < spec->run_count; i++) {
        struct config cfg;
        char shape[CONFIG_ID];
        size_t at = 0;
        spec_run(spec, i, &cfg);
        config_shape(&cfg, shape);
        while (at < count && strcmp(shapes[at].name, shape) != 0)
            at++;
        if (at == count) {
            shapes = memory_resize(shapes, count + 1, sizeof *shapes);
            memcpy(shapes[count].name, shape, sizeof shape);
            shapes[count++].runs = 0;
        }
        workers += shapes[at].runs++ % spec->limits.pack == 0;
    }
    free(shapes);
    return workers;
}

void spec_print_stop(const struct spec *spec, FILE *out)
{
    const struct spec_stop *stop = &spec->stop;
    const bool halving = stop->policy == SPEC_STOP_HALVING;
    const double keep = halving ? (double)stop->keep / stop->of : 0.5;
    double all = 0, left = 0;
    if (stop->policy == SPEC_STOP_NONE)
        return;
    for (int64_t i = 0; i < spec->run_count; i++) {
        struct config cfg;
        double share = 1, from = 0;
        spec_run(spec, i, &cfg);
        for (int r = 0; r <= stop->rung_count; r++) {
            const int64_t to = r < stop->rung_count ? config_steps(stop->rungs[r].length, cfg.steps) : cfg.steps;
            left += share * ((double)to - from);
            from = (double)to;
            share *= keep;
        }
        all += (double)cfg.steps;
    }
    fprintf(out, "search: at ");
    for (int r = 0; r < stop->rung_count; r++)
        fprintf(out, "%s%s", r ? ", " : "", stop->rungs[r].text);
    if (halving)
        fprintf(out, " of a run %d of %d go on", stop->keep, stop->of);
    else
        fprintf(out, " of a run the better half goes on");
    fprintf(out, ", the others are paused: about %.0f of %.0f steps, more while few have come\n", left, all);
}

int spec_check(const char *path, struct error *err)
{
    struct progress progress = data_progress();
    int status = submit_check(path, &progress, err);
    data_progress_end(&progress);
    return status;
}
