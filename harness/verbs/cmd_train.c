#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/base/rundir.h"
#include "core/train/train.h"
#include "core/trained/initial.h"
#include "harness/verbs/commands.h"
#include "harness/spec/config_yaml.h"
#include "harness/base/format.h"
#include "harness/base/options.h"
#include "harness/base/progress.h"

static atomic_int stop_asked;

static void ask_stop(int signal_number)
{
    (void)signal_number;
    atomic_store(&stop_asked, 1);
}

/* TERM and INT finish the step, save and stop; a second one ends at once. */
static void catch_signals(void)
{
    struct sigaction action = {.sa_handler = ask_stop, .sa_flags = (int)SA_RESETHAND | SA_RESTART};
    sigemptyset(&action.sa_mask);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
}

/* --set wins over the file wherever it stands, so it is collected first and applied after. */
static int collect(void *arg, const char *value, struct error *err)
{
    const char ***next = arg;
    (void)err;
    *(*next)++ = value;
    return STATUS_OK;
}

static int load(struct config *cfg, const char *spec, const char *const *pairs, size_t count, struct error *err)
{
    int status = STATUS_OK;
    config_init(cfg);
    if (spec)
        status = config_load_yaml(cfg, spec, stderr, err);
    struct error faults = {0};
    for (size_t i = 0; !status && i < count; i++) {
        struct error one = {0};
        if (config_set_pair(cfg, pairs[i], &one)) /* all of them at once, a line each, as those of a file */
            error_add(&faults, STATUS_BAD_INPUT, "--set: %s", one.text);
    }
    if (faults.status)
        return error_set(err, faults.status, "%s", faults.text);
    if (!status && cfg->init_run[0])
        status = error_set(err, STATUS_BAD_INPUT, "init.run: %s is a variant, which only a sweep has; want init.from",
                           cfg->init_run);
    if (!status)
        status = initial_resolve(cfg, err);
    return status ? status : config_finish(cfg, err);
}

/* Two processes never write one run: the lock lives as long as the process. */
static int lock_directory(const char *dir, struct error *err)
{
    int status = file_make_directories(dir, err);
    if (status)
        return status;
    int lock;
    status = rundir_lock(dir, &lock, err);
    return status == STATUS_STOPPED ? error_set(err, STATUS_FAILED, "%s: another process is training there", dir)
                                    : status;
}

/* A directory in which nothing was written but the lock is not left behind. */
static void leave_directory(const char *dir)
{
    struct dirent **entries = NULL;
    int count = scandir(dir, &entries, NULL, NULL), others = 0;
    for (int i = 0; i < count; i++) {
        const char *name = entries[i]->d_name;
        others += strcmp(name, ".") != 0 && strcmp(name, "..") != 0 && strcmp(name, RUNDIR_LOCK) != 0;
        free(entries[i]);
    }
    free(entries);
    if (count < 0 || others > 0)
        return;
    char *lock = file_join(dir, RUNDIR_LOCK);
    unlink(lock);
    rmdir(dir);
    free(lock);
}

static int run(const struct config *cfg, const struct train_options *given, struct error *err)
{
    struct progress_line line;
    struct train_options options = *given;
    struct train_result result;
    char loss[32], perplexity[32];
    progress_begin(&line);
    options.stop = &stop_asked;
    options.begin = initial_load;
    options.progress = progress_train;
    options.progress_arg = &line;
    int status = lock_directory(options.dir, err);
    if (status)
        return status;
    catch_signals();
    status = train_run(cfg, &options, &result, err);
    progress_end(&line);
    if (status)
        leave_directory(options.dir);
    if (status == STATUS_STOPPED)
        fprintf(stderr, "taper: the same command with --resume goes on from there\n");
    if (!status)
        printf("%s: step %lld, validation loss %s (perplexity %s), %lld parameters\n", options.dir,
               (long long)result.step, format_fixed(loss, result.val_loss, 4),
               format_fixed(perplexity, exp(result.val_loss), 2), (long long)result.params);
    return status;
}

static int train_exec(int argc, char **argv, struct error *err)
{
    const char *dir = NULL, **pairs = calloc((size_t)argc + 1, sizeof *pairs), **next = pairs;
    bool resume = false, profile = false;
    const struct option_spec specs[] = {{.name = "set", .each = collect, .arg = &next},
                                        {.name = "out", .value = &dir},
                                        {.name = "resume", .flag = &resume},
                                        {.name = "profile", .flag = &profile},
                                        {0}};
    struct config cfg;
    int operands;
    int status = pairs ? options_parse(&cmd_train, specs, argc, argv, &operands, err)
                       : error_set(err, STATUS_MEMORY, "out of memory");
    if (!status && !dir)
        status = command_usage(&cmd_train, err, "--out DIR is missing");
    if (!status && operands > 1)
        status = command_usage(&cmd_train, err, "want at most one SPEC, got %d", operands);
    if (!status)
        status = load(&cfg, operands ? argv[1] : NULL, pairs, (size_t)(next - pairs), err);
    free(pairs);
    if (status)
        return status;
    return run(&cfg, &(struct train_options){.dir = dir, .fresh = !resume, .profile = profile}, err);
}

static const struct option_row train_options[] = {
    {"set", 's', "KEY=VALUE", "one key; wins over SPEC"},
    {"out", 'o', "DIR", "where the run goes: config.json, journal.jsonl, checkpoint.safetensors, samples.txt"},
    {"resume", 0, NULL, "go on from DIR's checkpoint, with the same keys"},
    {"profile", 0, NULL, "print the time of each part of the step at the end"},
    {0},
};

const struct command cmd_train = {
    .name = "train",
    .operands = "[SPEC|-]",
    .brief = "train one model, without a database",
    .about =
        "  SPEC                 a YAML file of dotted keys ('taper help config' lists them), - for standard input\n",
    .options = train_options,
    .notes = "SIGTERM and Ctrl-C finish the step, save a checkpoint and stop (exit status 3); --resume goes on "
             "bit for bit.\n",
    .exec = train_exec,
};
