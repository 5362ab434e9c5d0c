#include "core/train/train.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/data/batch.h"
#include "core/train/calibration.h"
#include "core/train/evaluate.h"
#include "core/decode/generate.h"
#include "core/ops/gpu_load.h"
#include "core/model/gpu_memory.h"
#include "core/base/memory.h"
#include "core/base/parallel.h"
#include "core/ops/profile.h"
#include "core/model/schedule.h"
#include "core/train/train_internal.h"
#include "core/base/rundir.h"

/* ------------------------------------------------------------------------------------------- opening */

/* A directory belongs to one configuration: another one is refused, so that no run mixes two. */
static int check_directory(const struct config *cfg, const struct train_options *o, const char *path, struct error *err)
{
    int status = file_make_directories(o->dir, err);
    if (status || access(path, F_OK) != 0)
        return status;
    if (o->fresh)
        return error_set(err, STATUS_BAD_INPUT, "%s: already holds a run; give another directory, or --resume", o->dir);
    json_error_t fault;
    struct config found;
    json_t *object = json_load_file(path, JSON_REJECT_DUPLICATES, &fault);
    if (!object)
        status = error_set(err, STATUS_BAD_INPUT, "%s:%d: %s", path, fault.line, fault.text);
    else if (!(status = config_from_json(&found, object, path, err)))
        status = checkpoint_compare(path, cfg, &found, err);
    json_decref(object);
    return status;
}

/* Written when everything else is there: what failed before leaves the directory free for the corrected command. */
static int claim_directory(const struct config *cfg, const char *path, struct error *err)
{
    if (access(path, F_OK) == 0)
        return STATUS_OK;
    json_t *object = config_to_json(cfg);
    char *text = json_dumps(object, JSON_INDENT(2) | JSON_REAL_PRECISION(17));
    int status = text ? file_write_all(path, text, strlen(text), err)
                      : error_set(err, STATUS_FAILED, "%s: the configuration cannot be written as JSON", path);
    free(text);
    json_decref(object);
    return status;
}

static void data_progress(void *arg, const char *what, uint64_t done, uint64_t total)
{
    (void)done;
    (void)total;
    run_show(arg, what);
}

static int open_data(struct run *r, int threads, struct error *err)
{
    const struct progress progress = {.report = data_progress, .arg = r};
    return dataset_open(&r->data, r->cfg, threads, &progress, err);
}

/* The tokenizer goes with the run: a checkpoint alone cannot be read back into text. */
static int save_tokenizer(struct run *r, struct error *err)
{
    char *path = file_join(r->options->dir, RUNDIR_TOKENIZER), *vocab = file_join(path, "vocab.json");
    int status = access(vocab, F_OK) == 0 ? STATUS_OK : tokenizer_save(r->data.tokenizer, path, err);
    free(vocab);
    free(path);
    return status;
}

/* The runs of a process open their models one at a time: so each one's check of a GPU's memory sees what those before
 * it have taken, and the environment, which the CPU backend sets while it chooses its kernels, is not read meanwhile.
 */
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;

/* What the open runs of the process take of a GPU, and what was free when the first of them came: they take most of it
 * in the course of their steps. What other processes of ours will take is the daemon's to know. */
static size_t promised, free_before;

static int open_gpu(struct run *r, struct error *err)
{
    const struct gpu_library *library;
    const bool half = r->cfg->precision != PRECISION_FP32;
    const struct backend_options options = {
        .threads = 1, .device = r->options->device, .precision = half ? PRECISION_BF16 : PRECISION_FP32};
    size_t free_bytes, total_bytes;
    int status = gpu_load(&library, err);
    if (status)
        return status;
    r->ops = library->ops;
    status = r->ops->create(&r->be, &options, err);
    if (!status) {
        library->memory(r->be, &free_bytes, &total_bytes);
        if (!promised)
            free_before = free_bytes;
        size_t left = free_before > promised ? free_before - promised : 0;
        free_bytes = left < free_bytes ? left : free_bytes;
        status = gpu_memory_check(r->cfg, half, free_bytes, total_bytes, err);
    }
    if (!status)
        promised += r->promised = gpu_memory_need(r->cfg, half).total;
    return status ? error_wrap(err, "device: cuda") : STATUS_OK;
}

static int open_backend(struct run *r, int threads, struct error *err)
{
    const struct backend_options options = {.threads = threads, .precision = PRECISION_FP32};
    if (r->cfg->device == DEVICE_CUDA)
        return open_gpu(r, err);
    r->ops = r->options->profile ? profile_ops(ops_cpu()) : ops_cpu();
    return r->ops->create(&r->be, &options, err);
}

static int open_model(struct run *r, int threads, struct error *err)
{
    const struct config *cfg = r->cfg;
    pthread_mutex_lock(&turn);
    int status = open_backend(r, threads, err);
    if (!status)
        status = model_create(&r->model, cfg, r->ops, r->be, err);
    if (!status)
        status = trainer_create(&r->trainer, &r->model, (int)cfg->batch, (int)cfg->context, err);
    pthread_mutex_unlock(&turn);
    if (!status) {
        r->windows = memory_alloc((size_t)(cfg->accumulate * cfg->batch * (cfg->context + 1)), sizeof *r->windows);
        r->sites = memory_alloc((size_t)r->model.table.site_count, sizeof *r->sites);
    }
    return status;
}

static int open_journal(struct run *r, struct error *err)
{
    char *path = file_join(r->options->dir, RUNDIR_JOURNAL);
    int attempt = r->options->attempt;
    int status = journal_open(&r->journal, path, attempt, err);
    if (!status && attempt < 1)
        status = journal_next_attempt(&r->journal, err);
    free(path);
    return status;
}

/* A killed attempt may have left a half-written checkpoint or other file beside the good one. */
static void remove_leftovers(const char *dir)
{
    static const char *const names[] = {RUNDIR_CHECKPOINT, RUNDIR_FOLDED, RUNDIR_SAMPLES, RUNDIR_CONFIG};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        file_remove_leftovers(dir, names[i]);
}

static int run_open(struct run *r, struct error *err)
{
    const int threads = r->cfg->threads ? (int)r->cfg->threads : parallel_processors();
    bool resumed = false;
    char text[128];
    r->checkpoint_path = file_join(r->options->dir, RUNDIR_CHECKPOINT);
    r->before_path = file_join(r->options->dir, RUNDIR_BEFORE);
    char *config_path = file_join(r->options->dir, RUNDIR_CONFIG);
    int status = check_directory(r->cfg, r->options, config_path, err);
    if (!status)
        status = open_model(r, threads, err); /* first: no text is prepared for a device that is not there */
    if (!status)
        status = open_data(r, threads, err);
    if (!status)
        status = run_check_data(r, err);
    if (!status)
        status = run_restore(r, &resumed, err);
    if (!status)
        status = save_tokenizer(r, err);
    if (!status)
        status = claim_directory(r->cfg, config_path, err);
    if (!status)
        status = run_claim_data(r, err);
    if (!status)
        remove_leftovers(r->options->dir);
    if (!status)
        status = open_journal(r, err);
    free(config_path);
    if (status)
        return status;
    snprintf(text, sizeof text, "%s, %d threads", r->ops->name, threads);
    r->result->params = r->model.table.parameters;
    r->result->step = r->trainer.step;
    status = run_log_data(r, err);
    for (int i = 0; !status && i < r->asides; i++)
        status = run_log_event(r, r->aside[i].kind, r->aside[i].text, err);
    if (!status)
        status = run_log_event(r, resumed ? "resume" : "start", text, err);
    if (!status && !resumed && r->cfg->init_from[0])
        status = run_log_event(r, "initial", r->cfg->init_from, err);
    return status;
}

static int run_close(struct run *r, int status, struct error *err)
{
    struct error closing = {0};
    if (journal_close(&r->journal, &closing) && !status)
        status = error_set(err, closing.status, "%s", closing.text);
    trainer_destroy(&r->trainer);
    model_destroy(&r->model);
    if (r->ops)
        r->ops->destroy(r->be);
    pthread_mutex_lock(&turn);
    promised -= r->promised;
    pthread_mutex_unlock(&turn);
    dataset_close(&r->data);
    free(r->checkpoint_path);
    free(r->before_path);
    free(r->windows);
    free(r->sites);
    free(r->pending_ms);
    return status;
}

/* ------------------------------------------------------------------------------------------- the loop */

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static bool due(int64_t step, int64_t every)
{
    return every > 0 && step % every == 0;
}

static int evaluate_now(struct run *r, int64_t most, struct error *err)
{
    struct evaluation e;
    run_show(r, "eval");
    trainer_set_gates(&r->trainer, r->trainer.step);
    int status = evaluate(&r->model, &r->data.valid, (int)r->cfg->batch, most, r->options->stop, &e, err);
    if (status)
        return status;
    r->result->val_loss = e.loss;
    status = run_log_eval(r, e.loss, e.tokens, err);
    if (!status && !isfinite(e.loss))
        status = error_set(err, STATUS_DIVERGED, "step %lld: not finite: validation loss %g",
                           (long long)r->trainer.step, e.loss);
    return status;
}

/* The batch of step k, on its way while the step before is at work. */
static void stage(struct run *r, int64_t k)
{
    const struct config *cfg = r->cfg;
    batch_windows(&r->data.train, (uint64_t)config_seed_data(cfg), k, cfg->accumulate * cfg->batch, cfg->context,
                  r->windows);
    trainer_stage(&r->trainer, r->windows);
}

/* Every step so far is done: they took what passed since the last such moment, in equal parts where the device was
 * ahead of us. */
static void take_time(struct run *r)
{
    const int64_t steps = r->trainer.step - r->settled_step;
    const double ms = now_ms() - r->settled_at, each = ms / (double)steps, kept = pow(0.9, (double)steps);
    for (int64_t i = 0; i < steps; i++)
        run_log_time(r, each);
    if (steps > 0) {
        r->trained_ms += ms;
        r->recent_ms = r->recent_ms > 0 ? kept * r->recent_ms + (1 - kept) * each : each;
    }
    r->settled_step = r->trainer.step;
}

/* Said once, when it is known; where the first such step is the end, that is said then. */
static int log_skipped(struct run *r, struct error *err)
{
    const struct trainer *t = &r->trainer;
    char what[200], text[320];
    int64_t before = r->known_skipped;
    r->known_skipped = t->skipped;
    if (t->skipped == before || !r->ops->deferred)
        return STATUS_OK;
    trainer_describe_skipped(t, what, sizeof what);
    snprintf(text, sizeof text, "step %lld: %s; its update was left out (%lld so far)", (long long)t->last_skipped.step,
             what, (long long)t->skipped);
    return run_log_event(r, "skipped", text, err);
}

/* Wait for the steps that are on their way, and take in what became of them. */
static int settle(struct run *r, struct error *err)
{
    struct error logging = {0};
    int status = trainer_settle(&r->trainer, err);
    take_time(r);
    r->result->step = r->trainer.step;
    if (log_skipped(r, &logging) && !status)
        status = error_set(err, logging.status, "%s", logging.text);
    return status;
}

/* What says whose checkpoint it is. Both are written without waiting for the disk, since a run that has none yet gets
 * them again; before the first they must be there. */
static void sync_claims(struct run *r)
{
    static const char *const names[] = {RUNDIR_CONFIG, RUNDIR_DATA};
    for (size_t i = 0; i < sizeof names / sizeof names[0] && !r->claims_synced; i++) {
        char *path = file_join(r->options->dir, names[i]);
        file_sync(path);
        free(path);
    }
    r->claims_synced = true;
}

static int save(struct run *r, struct error *err)
{
    struct checkpoint_data data = run_data(r);
    int status = settle(r, err);
    sync_claims(r);
    if (!status) /* a checkpoint never outlives the rows it stands on, whatever is cut when */
        status = journal_sync(&r->journal, err);
    if (!status)
        status = checkpoint_write(r->checkpoint_path, r->before_path, &r->trainer, &data, err);
    return status ? status : run_log_event(r, "checkpoint", "", err);
}

/* FakeLN's sites that this step was the first without. */
static int log_removals(struct run *r, int64_t k, struct error *err)
{
    const struct param_table *table = &r->model.table;
    int status = STATUS_OK;
    for (int i = 0; !status && i < table->site_count && config_fakeln(r->cfg); i++) {
        char text[PARAM_NAME + 64];
        if (!table->sites[i].tapered || schedule_removal(r->cfg, table, i) != k)
            continue;
        snprintf(text, sizeof text, "%s: sigma_avg %.9g", table->sites[i].name,
                 calibration_removed_scale(&r->trainer, i));
        status = run_log_event(r, "removal", text, err);
    }
    return status;
}

static int one_step(struct run *r, struct error *err)
{
    const struct config *cfg = r->cfg;
    int64_t k = r->trainer.step + 1;
    struct step_report report = {.sites = r->sites};
    bool logged = k == 1 || k == cfg->steps || due(k, cfg->log_every);
    if (r->settled_step == k - 1)
        r->settled_at = now_ms();
    if (k < cfg->steps)
        stage(r, k + 1);
    profile_count(true);
    int status = trainer_step(&r->trainer, NULL, logged, &report, err);
    profile_count(false);
    if (!status && (logged || !r->ops->deferred))
        status = settle(r, err);
    else if (status)
        log_skipped(r, NULL);
    if (status)
        return status;
    if (logged || !r->ops->deferred)
        r->last_loss = report.stats.ce;
    status = run_log_step(r, &report, err);
    if (!status)
        status = log_removals(r, k, err);
    if (!status && logged)
        r->trainer.logged = k;
    run_show(r, "train");
    return status;
}

static void print_profile(const struct run *r, int64_t steps)
{
    if (r->options->profile) {
        run_show(r, "profile");
        profile_print(stderr, steps, r->trained_ms);
    }
}

/* Stopped with everything saved: what is said of it. */
static int stopped(const struct run *r, struct error *err)
{
    return error_set(err, STATUS_STOPPED, "stopped after step %lld of %lld; the checkpoint is saved",
                     (long long)r->trainer.step, (long long)r->cfg->steps);
}

/* Where it was asked to train no further. */
static bool is_until(const struct run *r)
{
    const int64_t until = r->options->until;
    return until > 0 && until < r->cfg->steps && r->trainer.step >= until;
}

static int paused(const struct run *r, struct error *err)
{
    return error_set(err, STATUS_PAUSED, "paused after step %lld of %lld, as asked; the checkpoint is saved",
                     (long long)r->trainer.step, (long long)r->cfg->steps);
}

/* An evaluation that is due after step k may have been cut short by a stop, or by a kill after the checkpoint of that
 * step: a resumed run makes it up. Made twice, it is logged twice with the same numbers. */
static int train_steps(struct run *r, struct error *err)
{
    const struct config *cfg = r->cfg;
    const int64_t first = r->trainer.step;
    const int64_t eval_every = config_steps(cfg->eval_every, cfg->steps);
    const int64_t checkpoint_every = config_steps(cfg->checkpoint_every, cfg->steps);
    int status = STATUS_OK;
    if (first > 0 && first < cfg->steps && (due(first, eval_every) || first == r->options->until))
        status = evaluate_now(r, cfg->eval_tokens, err);
    if (status) /* nothing has changed since the checkpoint */
        return status == STATUS_STOPPED ? stopped(r, err) : status;
    if (is_until(r))
        return paused(r, err);
    r->settled_step = first;
    r->known_skipped = r->trainer.skipped;
    if (first < cfg->steps)
        stage(r, first + 1);
    while (r->trainer.step < cfg->steps) {
        status = one_step(r, err);
        int64_t k = r->trainer.step;
        const bool last = k == cfg->steps, until = is_until(r), evaluates = due(k, eval_every) || until;
        if (!status && evaluates)
            status = settle(r, err);
        if (!status && !last && evaluates)
            status = evaluate_now(r, cfg->eval_tokens, err);
        bool stop = status == STATUS_STOPPED || (r->options->stop && atomic_load(r->options->stop));
        if ((!status || status == STATUS_STOPPED) && (last || stop || until || due(k, checkpoint_every)))
            status = save(r, err);
        if (status)
            return status;
        if (stop)
            return stopped(r, err);
        if (until)
            return paused(r, err);
    }
    print_profile(r, r->trainer.step - first);
    return STATUS_OK;
}

static int write_bytes(void *arg, const unsigned char *bytes, size_t length, struct error *err)
{
    struct file_writer *w = arg;
    return fwrite(bytes, 1, length, w->stream) == length
               ? STATUS_OK
               : error_errno(err, STATUS_FAILED, errno, "%s: cannot write", w->path);
}

static int write_sample(struct run *r, struct error *err)
{
    const struct config *cfg = r->cfg;
    if (cfg->sample_tokens == 0)
        return STATUS_OK;
    run_show(r, "sample");
    char *path = file_join(r->options->dir, RUNDIR_SAMPLES);
    struct file_writer w;
    int status = file_create(&w, path, err);
    free(path);
    if (status)
        return status;
    trainer_set_gates(&r->trainer, cfg->steps);
    status = generate(&r->model, r->data.tokenizer,
                      &(struct generate_options){.prompt = cfg->sample_prompt,
                                                 .tokens = cfg->sample_tokens,
                                                 .temperature = 0.8,
                                                 .top_p = 0.95,
                                                 .seed = (uint64_t)cfg->seed,
                                                 .threads = (int)cfg->threads,
                                                 .sink = write_bytes,
                                                 .arg = &w},
                      NULL, err);
    if (status) {
        file_abandon(&w);
        return status;
    }
    fputc('\n', w.stream);
    return file_commit(&w, err);
}

/* The end of every attempt is in the journal, whatever it was. */
static int conclude(struct run *r, int status, struct error *err)
{
    const char *state = status == STATUS_OK        ? "done"
                        : status == STATUS_STOPPED ? "stopped"
                        : status == STATUS_PAUSED  ? "paused"
                                                   : "failed";
    struct error writing = {0};
    if (!r->journal.path) /* failed before there was a journal */
        return status;
    if (run_log_end(r, state, status && err ? err->text : "", &writing) && !status)
        return error_set(err, writing.status, "%s", writing.text);
    return status;
}

int train_run(const struct config *cfg, const struct train_options *options, struct train_result *result,
              struct error *err)
{
    struct error local = {0};
    struct run r = {.cfg = cfg, .options = options, .result = result, .last_loss = NAN, .journal = {.fd = -1}};
    *result = (struct train_result){.val_loss = NAN};
    if (!err)
        err = &local;
    int status = run_open(&r, err);
    if (!status)
        status = train_steps(&r, err);
    /* The final evaluation and sample follow the last checkpoint: a run killed in between only repeats them. */
    if (!status && (status = evaluate_now(&r, 0, err)) == STATUS_STOPPED)
        status = stopped(&r, err);
    if (!status)
        status = write_sample(&r, err);
    if (!status) /* the last one is on the disk, and nothing is gone on from any more */
        unlink(r.before_path);
    status = conclude(&r, status, err);
    return run_close(&r, status, err);
}
