#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/file.h"
#include "core/trained/fold.h"
#include "core/base/memory.h"
#include "core/model/schedule.h"
#include "core/base/rundir.h"
#include "harness/verbs/commands.h"
#include "harness/verbs/eval_text.h"
#include "harness/verbs/model_options.h"
#include "harness/base/options.h"

enum { WINDOW_MOST = 512, TOKENS_LOOKED_AT = 2048 };

struct fold_arguments {
    const char *run, *journal, *text, *tokenizer;
    char *in, *out, *own_journal; /* on the heap */
    bool at_gate_zero, json;
    double tolerance;
    int threads;
};

/* ----------------------------------------------------------------------------------------- verification */

/* Windows spread evenly over the tokens. */
static void take_windows(const struct tokens *tokens, int count, int T, int32_t *windows)
{
    const uint64_t room = tokens->count - (uint64_t)T;
    for (int w = 0; w < count; w++)
        tokens_read(tokens, count > 1 ? room * (uint64_t)w / (uint64_t)(count - 1) : 0, (uint64_t)T,
                    windows + (size_t)w * (size_t)T);
}

static int verify(const struct fold_arguments *a, struct loaded_model *l, struct model *folded,
                  struct logits_difference *check, struct error *err)
{
    struct eval_text text = {0};
    const struct config *cfg = &l->model.cfg;
    const bool random = !a->text && !l->corpus[0];
    int T = cfg->context < WINDOW_MOST ? (int)cfg->context : WINDOW_MOST;
    int status = random ? STATUS_OK : eval_text_open(&text, l, a->text, NULL, err);
    if (status)
        return status;
    if (!random && text.tokens->count < (uint64_t)T)
        T = (int)text.tokens->count;
    const int count = TOKENS_LOOKED_AT > T ? TOKENS_LOOKED_AT / T : 1;
    int32_t *windows = memory_alloc((size_t)count * (size_t)T, sizeof *windows);
    if (random)
        compare_random_windows(cfg->vocab, count, T, windows); /* it was trained elsewhere and brings no text */
    else
        take_windows(text.tokens, count, T, windows);
    status = fold_verify(&l->model, folded, windows, count, T, check, err);
    free(windows);
    eval_text_close(&text);
    if (!status && !(check->error <= a->tolerance))
        status = error_set(err, STATUS_FAILED,
                           "%s: folded logits differ by %.3g (relative, over %lld tokens), more than "
                           "--tolerance %g; nothing is written",
                           l->path, check->error, (long long)check->tokens, a->tolerance);
    return status;
}

/* ------------------------------------------------------------------------------------------- the verb */

/* Is it at gate 0? `*nothing`: it has no site to fold, which a sweep's baseline may. */
static int check_gate(const struct fold_arguments *a, const struct loaded_model *l, bool *nothing, struct error *err)
{
    const struct config *cfg = &l->model.cfg;
    *nothing = cfg->sites == SITES_NONE;
    if (*nothing)
        return a->run ? STATUS_OK
                      : error_set(err, STATUS_BAD_INPUT,
                                  "%s: no site is tapered (taper.sites is none): nothing to fold", l->path);
    if (l->folded != SITES_NONE)
        return error_set(err, STATUS_BAD_INPUT, "%s: folded already (%s)", l->path, saved_model_sites_name(l->folded));
    if (config_fakeln(cfg))
        return l->gate > 0 ? error_set(err, STATUS_BAD_INPUT,
                                       "%s: step %lld: some norms are still real, and have no frozen scale; only when "
                                       "all are removed do they fold (train on)",
                                       l->path, (long long)l->step)
                           : STATUS_OK;
    const int64_t calibrated = schedule_calibration_end(cfg, &l->model.table);
    if (l->step <= calibrated)
        return error_set(err, STATUS_BAD_INPUT, "%s: step %lld: c and gamma_tilde are there after step %lld only",
                         l->path, (long long)l->step, (long long)calibrated);
    if (l->gate > 0 && !a->at_gate_zero)
        return error_set(err, STATUS_BAD_INPUT,
                         "%s: the gate is %g at step %lld, and only at 0 do the norms fold "
                         "(--at-gate-zero folds what the model would be at gate 0)",
                         l->path, l->gate, (long long)l->step);
    return STATUS_OK;
}

static int write_folded(const char *path, const struct loaded_model *l, const struct model *folded,
                        const struct logits_difference *check, struct error *err)
{
    float *params = model_download(folded, folded->params), *c = model_download_c(folded);
    char number[32];
    snprintf(number, sizeof number, "%.9g", check->error);
    json_t *metadata = json_pack("{s:s}", "fold_error", number);
    if (l->corpus[0])
        json_object_set_new(metadata, "corpus", json_string(l->corpus));
    int status = saved_model_write(path,
                                   &(struct saved_model_content){.cfg = &folded->cfg,
                                                                 .table = &folded->table,
                                                                 .params = params,
                                                                 .c = c,
                                                                 .step = l->step,
                                                                 .metadata = metadata},
                                   err);
    json_decref(metadata);
    free(params);
    free(c);
    return status;
}

static void report(const struct fold_arguments *a, const struct loaded_model *l, const struct model *folded,
                   const struct logits_difference *check)
{
    int sites = 0;
    for (int i = 0; i < folded->table.site_count; i++)
        sites += folded->table.sites[i].absent;
    if (a->json) {
        json_t *object = json_pack("{s:s, s:s, s:i, s:o, s:o, s:I, s:I}", "folded", a->out, "sites",
                                   saved_model_sites_name(folded->table.folded), "count", sites, "fold_error",
                                   journal_number(check->error), "largest", journal_number(check->largest), "tokens",
                                   (json_int_t)check->tokens, "step", (json_int_t)l->step);
        json_dumpf(object, stdout, JSON_COMPACT | JSON_REAL_PRECISION(17));
        putchar('\n');
        json_decref(object);
        return;
    }
    printf("%s: %d of %d sites folded; logits differ by %.3g (relative; largest %.3g of their RMS) over %lld tokens\n",
           a->out, sites, folded->table.site_count, check->error, check->largest, (long long)check->tokens);
}

static int fold_loaded(const struct fold_arguments *a, struct loaded_model *l, struct error *err)
{
    struct model folded;
    struct logits_difference check;
    bool nothing;
    int status = check_gate(a, l, &nothing, err);
    if (status)
        return status;
    if (nothing) {
        printf("%s: no site is tapered: nothing to fold\n", l->path);
        return STATUS_OK;
    }
    status = fold_model(&l->model, &folded, err);
    if (status)
        return status;
    status = verify(a, l, &folded, &check, err);
    if (!status)
        status = write_folded(a->out, l, &folded, &check, err);
    if (!status && a->journal)
        status =
            model_journal_line(a->journal, "fold", json_pack("{s:o}", "fold_error", journal_number(check.error)), err);
    if (!status)
        report(a, l, &folded, &check);
    model_destroy(&folded);
    return status;
}

static int fold_exec(int argc, char **argv, struct error *err)
{
    struct fold_arguments a = {.tolerance = 1e-3};
    struct loaded_model l;
    const char *threads = NULL, *tolerance = NULL;
    const struct option_spec specs[] = {{.name = "run", .value = &a.run},
                                        {.name = "journal", .value = &a.journal},
                                        {.name = "text", .value = &a.text},
                                        {.name = "tokenizer", .value = &a.tokenizer},
                                        {.name = "tolerance", .value = &tolerance},
                                        {.name = "at-gate-zero", .flag = &a.at_gate_zero},
                                        {.name = "json", .flag = &a.json},
                                        {.name = "threads", .value = &threads},
                                        {0}};
    int operands;
    int status = options_parse(&cmd_fold, specs, argc, argv, &operands, err);
    if (!status && operands != (a.run ? 0 : 2))
        status = command_usage(&cmd_fold, err, a.run ? "--run DIR stands alone" : "want CHECKPOINT and OUT, got %d",
                               operands);
    if (!status && tolerance)
        status = options_real("--tolerance", tolerance, 0, 1e9, &a.tolerance, err);
    if (!status)
        status = model_option_threads(threads, &a.threads, err);
    if (status)
        return status;
    a.in = a.run ? file_join(a.run, RUNDIR_CHECKPOINT) : memory_string(argv[1]);
    a.out = a.run ? file_join(a.run, RUNDIR_FOLDED) : memory_string(argv[2]);
    a.own_journal = a.run ? file_join(a.run, RUNDIR_JOURNAL) : NULL;
    if (!a.journal)
        a.journal = a.own_journal;
    status = loaded_model_open(
        &l, a.in,
        &(struct loaded_model_options){.threads = a.threads, .tokenizer = a.text != NULL, .tokenizer_dir = a.tokenizer},
        err);
    if (!status) {
        status = fold_loaded(&a, &l, err);
        loaded_model_close(&l);
    }
    free(a.in);
    free(a.out);
    free(a.own_journal);
    return status;
}

static const struct option_row fold_options[] = {
    {"run", 0, "DIR",
     "DIR/checkpoint.safetensors to DIR/folded.safetensors, with DIR/journal.jsonl; fine when the run has no tapered "
     "site: it does nothing then"},
    {"at-gate-zero", 0, NULL, "fold although the gate is above 0: the model as it would be at 0"},
    {"text", 0, "FILE",
     "compare logits on this text; else on the run's validation split, or on random tokens when the model was "
     "imported"},
    {"tolerance", 0, "X", "largest relative difference of the logits for which OUT is written (0.001)"},
    {"journal", 0, "FILE", "append the difference to a run's journal"},
    {"tokenizer", 0, "DIR", "the tokenizer of --text (`tokenizer` beside the checkpoint)"},
    OPTION_THREADS,
    {"json", 0, NULL, "one JSON object"},
    {0},
};

const struct command cmd_fold = {
    .name = "fold",
    .operands = "[CHECKPOINT OUT]",
    .brief = "fold tapered norms into the projections behind them",
    .about = "  CHECKPOINT       of a run whose gate has reached 0, or the directory of one\n"
             "  OUT              the folded model: the tapered sites are gone from it\n",
    .options = fold_options,
    .exec = fold_exec,
};
