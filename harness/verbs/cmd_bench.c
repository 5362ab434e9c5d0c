#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/decode/bench_decode.h"
#include "core/base/file.h"
#include "core/trained/fold.h"
#include "core/base/memory.h"
#include "core/model/schedule.h"
#include "core/base/rundir.h"
#include "harness/verbs/commands.h"
#include "harness/verbs/model_options.h"
#include "harness/base/options.h"
#include "harness/worker/worker_beside.h"

enum { LIST_MOST = 16, KINDS = 2 };

struct list {
    int count;
    int at[LIST_MOST];
};

/* One kind's work. */
struct plan {
    bool wanted;
    struct list batch, context;
};

struct bench_arguments {
    const char *run, *plan_text, *kind, *batch, *context, *sites, *weights, *device, *threads, *repeats, *warmups,
        *tokens, *journal;
    bool json, ops, cpu; /* cpu: where the model is */
    int precision;       /* of the backend */
    struct plan plans[KINDS];
    struct bench_options options;
};

/* ------------------------------------------------------------------------------------------- arguments */

/* "1,16,64" */
static int parse_list(const char *what, const char *text, struct list *out, struct error *err)
{
    out->count = 0;
    for (const char *at = text;; at++) {
        char *end;
        errno = 0;
        long value = strtol(at, &end, 10);
        if (end == at || errno || value < 1 || value > 1 << 20 || (*end && *end != ',') || out->count == LIST_MOST)
            return error_set(err, STATUS_BAD_INPUT, "%s: want 1 to %d whole numbers with commas between, got '%s'",
                             what, LIST_MOST, text);
        out->at[out->count++] = (int)value;
        if (*end == '\0')
            return STATUS_OK;
        at = end;
    }
}

/* A number or a list of numbers of a plan in JSON. */
static int list_from_json(const char *what, const json_t *value, struct list *out, struct error *err)
{
    const size_t count = json_is_array(value) ? json_array_size(value) : 1;
    out->count = 0;
    for (size_t i = 0; value && i < count; i++) {
        const json_t *item = json_is_array(value) ? json_array_get(value, i) : value;
        if (!json_is_integer(item) || json_integer_value(item) < 1 || json_integer_value(item) > 1 << 20 ||
            count > LIST_MOST)
            return error_set(err, STATUS_BAD_INPUT, "--plan: %s: want 1 to %d whole numbers", what, LIST_MOST);
        out->at[out->count++] = (int)json_integer_value(item);
    }
    return STATUS_OK;
}

/* {"decode": {"batch": [1, 16], "context": [512]}, "last-token": {...}}: `after: bench:` of a sweep. */
static int parse_plan(struct bench_arguments *a, struct error *err)
{
    json_error_t fault;
    json_t *object = json_loads(a->plan_text, JSON_REJECT_DUPLICATES, &fault);
    int status = json_is_object(object) ? STATUS_OK
                                        : error_set(err, STATUS_BAD_INPUT, "--plan: want a JSON object%s%s",
                                                    object ? "" : ": ", object ? "" : fault.text);
    const char *name;
    json_t *kind;
    if (!status)
        json_object_foreach(object, name, kind)
        {
            int k = strcmp(name, "decode") == 0       ? BENCH_DECODE
                    : strcmp(name, "last-token") == 0 ? BENCH_LAST_TOKEN
                                                      : -1;
            if (!status && k < 0)
                status = error_set(err, STATUS_BAD_INPUT, "--plan: want decode or last-token, got '%.40s'", name);
            if (status)
                break;
            a->plans[k].wanted = true;
            status = list_from_json("batch", json_object_get(kind, "batch"), &a->plans[k].batch, err);
            if (!status)
                status = list_from_json("context", json_object_get(kind, "context"), &a->plans[k].context, err);
        }
    json_decref(object);
    return status;
}

static int parse_kinds(struct bench_arguments *a, struct error *err)
{
    bool all = !a->kind || strcmp(a->kind, "all") == 0, known = all;
    for (int k = 0; k < KINDS; k++) {
        a->plans[k].wanted = all || strcmp(a->kind, bench_kind_name((enum bench_kind)k)) == 0;
        known |= a->plans[k].wanted;
        int status = a->batch ? parse_list("--batch", a->batch, &a->plans[k].batch, err) : STATUS_OK;
        if (!status && a->context)
            status = parse_list("--context", a->context, &a->plans[k].context, err);
        if (status)
            return status;
    }
    return known ? STATUS_OK
                 : error_set(err, STATUS_BAD_INPUT, "--kind: want decode, last-token or all, got '%s'", a->kind);
}

static int parse_numbers(struct bench_arguments *a, struct error *err)
{
    long long repeats = 0, warmups = 0, tokens = 0;
    int status = a->repeats ? options_integer("--repeats", a->repeats, 1, 100000, &repeats, err) : STATUS_OK;
    if (!status && a->warmups)
        status = options_integer("--warmups", a->warmups, 0, 100000, &warmups, err);
    if (!status && a->tokens)
        status = options_integer("--tokens", a->tokens, 1, 1 << 20, &tokens, err);
    if (!status)
        status = model_option_threads(a->threads, &a->options.threads, err);
    if (!status)
        status = model_option_weights(a->weights, &a->options.weights, err);
    a->options.repeats = (int)repeats;
    a->options.warmups = a->warmups ? (int)warmups : -1;
    a->options.tokens = (int)tokens;
    a->options.decoder = a->ops ? DECODER_OPS : DECODER_AUTO;
    return status;
}

/* ------------------------------------------------------------------------------------------- running */

/* What was not asked for: decoding one sequence at the full context; the paper's shapes for the last token. */
static void fill_lists(struct plan *plan, enum bench_kind kind, int context)
{
    static const int contexts[] = {128, 256, 512};
    if (!plan->batch.count) {
        plan->batch = (struct list){.count = 1, .at = {1}};
        if (kind == BENCH_LAST_TOKEN)
            plan->batch = (struct list){.count = 2, .at = {1, 4}};
    }
    for (size_t i = 0; kind == BENCH_LAST_TOKEN && i < 3 && plan->context.count == (int)i; i++)
        if (contexts[i] <= context)
            plan->context.at[plan->context.count++] = contexts[i];
    if (!plan->context.count)
        plan->context = (struct list){.count = 1, .at = {context}};
}

/* What the products of this kind read: the CPU decoder's own copy, or the backend's. */
static const char *weights_read(const struct bench_arguments *a, enum bench_kind kind)
{
    if (kind == BENCH_DECODE && a->options.weights != WEIGHTS_FP32)
        return decoder_weights_name(a->options.weights);
    return decoder_weights_name(a->precision == PRECISION_BF16 ? WEIGHTS_BF16 : WEIGHTS_FP32);
}

/* `beside`: other workers that were on the device before or after. */
static void print_rows(const struct bench_arguments *a, enum bench_kind kind, int batch, int context,
                       const struct bench_result *r, int beside)
{
    const char *weights = weights_read(a, kind);
    for (int v = 0; v < BENCH_VARIANTS; v++) {
        const struct bench_time *t = &r->ms[v];
        if (a->json) {
            printf("{\"kind\":\"%s\",\"variant\":\"%s\",\"batch\":%d,\"context\":%d,\"weights\":\"%s\","
                   "\"tokens_per_s\":%.6g,\"ms\":%.6g,\"ms_low\":%.6g,\"ms_high\":%.6g,\"repeats\":%d,"
                   "\"device\":\"%s\",\"beside\":%d}\n",
                   bench_kind_name(kind), bench_variant_name((enum bench_variant)v), batch, context, weights,
                   r->tokens_per_s[v], t->median, t->low, t->high, r->repeats, r->device, beside);
            continue;
        }
        printf("%-10s %-8s %s batch %3d context %4d  %12.1f tokens/s  %9.4f ms (%.4f to %.4f)  x%.3f\n",
               bench_kind_name(kind), bench_variant_name((enum bench_variant)v), weights, batch, context,
               r->tokens_per_s[v], t->median, t->low, t->high, r->ms[BENCH_BASELINE].median / t->median);
    }
    if (beside && !a->json)
        printf("%-10s taken beside %d other run%s on this machine\n", "", beside, beside > 1 ? "s" : "");
    fflush(stdout);
}

static int journal_rows(const struct bench_arguments *a, enum bench_kind kind, int batch, int context,
                        const struct bench_result *r, int beside, struct error *err)
{
    int status = STATUS_OK;
    for (int v = 0; !status && a->journal && v < BENCH_VARIANTS; v++)
        status = model_journal_line(
            a->journal, "bench",
            json_pack("{s:s, s:s, s:i, s:i, s:s, s:f, s:f, s:i, s:s, s:i}", "kind", bench_kind_name(kind), "variant",
                      bench_variant_name((enum bench_variant)v), "batch", batch, "context", context, "weights",
                      weights_read(a, kind), "tokens_per_s", r->tokens_per_s[v], "ms", r->ms[v].median, "repeats",
                      r->repeats, "device", r->device, "beside", beside),
            err);
    return status;
}

static int run_plan(const struct bench_arguments *a, enum bench_kind kind, const struct plan *plan, struct model *m,
                    struct error *err)
{
    for (int c = 0; c < plan->context.count; c++)
        for (int b = 0; b < plan->batch.count; b++) {
            struct bench_options o = a->options;
            struct bench_result r = {0};
            const int batch = plan->batch.at[b], context = plan->context.at[c];
            const bool decode = kind == BENCH_DECODE;
            o.repeats = o.repeats ? o.repeats : decode ? 15 : 50;
            o.warmups = o.warmups >= 0 ? o.warmups : decode ? 2 : 10;
            o.tokens = o.tokens ? o.tokens : context / 2 < 32 ? (context > 1 ? context / 2 : 1) : 32;
            const int before = worker_beside(a->cpu);
            int status = (decode ? bench_decode : bench_last_token)(m, &o, batch, context, &r, err);
            const int after = worker_beside(a->cpu), beside = before > after ? before : after;
            if (!status)
                status = journal_rows(a, kind, batch, context, &r, beside, err);
            if (status)
                return status;
            print_rows(a, kind, batch, context, &r, beside);
        }
    return STATUS_OK;
}

/* The sites that differ between the variants: those the model tapers, or what --sites says. */
static int choose_sites(const struct bench_arguments *a, const struct config *cfg, enum taper_sites *out,
                        struct error *err)
{
    *out = cfg->sites == SITES_NONE ? SITES_INTERNAL : (enum taper_sites)cfg->sites;
    if (!a->sites)
        return STATUS_OK;
    if (strcmp(a->sites, "internal") != 0 && strcmp(a->sites, "all") != 0)
        return error_set(err, STATUS_BAD_INPUT, "--sites: want internal or all, got '%s'", a->sites);
    *out = strcmp(a->sites, "all") == 0 ? SITES_ALL : SITES_INTERNAL;
    return STATUS_OK;
}

static int bench_loaded(struct bench_arguments *a, struct loaded_model *l, struct error *err)
{
    struct model folded = {0}, m;
    enum taper_sites sites;
    const struct config *cfg = &l->model.cfg;
    const bool folds = cfg->sites != SITES_NONE && l->folded == SITES_NONE && l->gate <= 0;
    int status = choose_sites(a, cfg, &sites, err);
    if (!status && folds)
        status = fold_model(&l->model, &folded, err);
    if (!status)
        status = bench_model_create(&m, folds ? &folded : &l->model, sites, err);
    if (folds && folded.params)
        model_destroy(&folded);
    if (status)
        return status;
    for (int k = 0; !status && k < KINDS; k++)
        if (a->plans[k].wanted) {
            fill_lists(&a->plans[k], (enum bench_kind)k, (int)cfg->context);
            status = run_plan(a, (enum bench_kind)k, &a->plans[k], &m, err);
        }
    model_destroy(&m);
    return status;
}

static int bench_exec(int argc, char **argv, struct error *err)
{
    struct bench_arguments a = {0};
    struct loaded_model l;
    const struct option_spec specs[] = {
        {.name = "run", .value = &a.run},         {.name = "plan", .value = &a.plan_text},
        {.name = "kind", .value = &a.kind},       {.name = "batch", .value = &a.batch},
        {.name = "context", .value = &a.context}, {.name = "sites", .value = &a.sites},
        {.name = "weights", .value = &a.weights}, {.name = "threads", .value = &a.threads},
        {.name = "device", .value = &a.device},   {.name = "repeats", .value = &a.repeats},
        {.name = "warmups", .value = &a.warmups}, {.name = "tokens", .value = &a.tokens},
        {.name = "journal", .value = &a.journal}, {.name = "ops", .flag = &a.ops},
        {.name = "json", .flag = &a.json},        {0}};
    int operands;
    int status = options_parse(&cmd_bench, specs, argc, argv, &operands, err);
    if (!status && operands != (a.run ? 0 : 1))
        status = command_usage(&cmd_bench, err, "want one CHECKPOINT or --run DIR");
    if (!status)
        status = a.plan_text ? parse_plan(&a, err) : parse_kinds(&a, err);
    if (!status)
        status = parse_numbers(&a, err);
    if (status)
        return status;
    char *journal = a.run && !a.journal ? file_join(a.run, RUNDIR_JOURNAL) : NULL;
    if (journal)
        a.journal = journal;
    struct loaded_model_options load = {.threads = a.options.threads, .device = a.run ? LOAD_AS_TRAINED : LOAD_CPU};
    status = model_option_device(a.device, &load.device, err);
    if (!status)
        status = loaded_model_open(&l, a.run ? a.run : argv[1], &load, err);
    if (!status) {
        a.precision = l.precision;
        a.cpu = strcmp(l.model.ops->name, "cuda") != 0;
        status = bench_loaded(&a, &l, err);
        loaded_model_close(&l);
    }
    free(journal);
    return status;
}

static const struct option_row bench_options[] = {
    {"run", 0, "DIR", "DIR/checkpoint.safetensors, with rows into DIR/journal.jsonl"},
    {"kind", 0, "decode|last-token|all",
     "decode: a token at a time with a cache; last-token: the forward of whole windows (all)"},
    {"batch", 0, "LIST", "sequences at once: 1,16,64 (decode 1; last-token 1,4)"},
    {"context", 0, "LIST", "tokens (decode: the model's context; last-token: 128,256,512)"},
    {"sites", 0, "internal|all",
     "the norms that differ: internal or all (those the model tapers; internal where it tapers none)"},
    {"weights", 0, "fp32|bf16|int8", "how they are read, sums are in fp32; decode on the CPU only"},
    {"repeats", 0, "N", "timed rounds (decode 15, last-token 50)"},
    {"warmups", 0, "N", "untimed rounds before them (decode 2, last-token 10)"},
    {"tokens", 0, "N", "decode: tokens timed in a round (32)"},
    {"ops", 0, NULL, "decode over the ops table instead of the CPU's own decoder"},
    {"device", 0, "cpu|cuda", "cpu or cuda (with --run: where the run was trained, else cpu)"},
    OPTION_THREADS_DECODING,
    {"plan", 0, "JSON", "kinds with their lists, as `after: bench:` of a sweep has them"},
    {"journal", 0, "FILE", "append rows of the table bench to a run's journal"},
    {"json", 0, NULL, "one JSON object a row"},
    {0},
};

const struct command cmd_bench = {
    .name = "bench",
    .operands = "[CHECKPOINT]",
    .brief = "time a model with norms, with explicit scaling, and folded",
    .about = "  CHECKPOINT      any checkpoint, or the directory of a run\n",
    .options = bench_options,
    .notes = "Variants: baseline computes the norms, unfused scales by c and gamma_tilde, fused has nothing "
             "there. They take turns\n"
             "in one process, on the same weights in the same memory; times are medians with the quartiles behind "
             "them.\n",
    .exec = bench_exec,
};
