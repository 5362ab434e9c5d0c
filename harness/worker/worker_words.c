/* The words of `taper worker`, for both programs that take them. */
#include "harness/worker/worker_words.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/memory.h"
#include "harness/base/options.h"

struct words {
    const char *attempt, *go, *device, *threads, *grace, *timeout, *processors, *data, *after, *payload, *program,
        *revision, *until;
};

/* "1,3,1": number `place` of a list of `count`, copied to item (ITEM bytes); a list of one is everybody's. */
enum { ITEM = 40 };

static int list_item(const char *what, const char *list, int place, int count, char *item, struct error *err)
{
    int length = 1;
    const char *at = list;
    for (const char *p = list; *p; p++)
        length += *p == ',';
    if (length != 1 && length != count)
        return error_set(err, STATUS_BAD_INPUT, "%s: want one value or %d, got %d", what, count, length);
    for (int i = 0; i < place && length > 1; i++)
        at = strchr(at, ',') + 1;
    snprintf(item, ITEM, "%.*s", (int)strcspn(at, ","), at);
    return STATUS_OK;
}

/* One run's part of an object for all, or of a list; NULL of none. */
static int object_item(const char *what, const json_t *all, int place, int count, const json_t **item,
                       struct error *err)
{
    if (json_is_array(all) && (int)json_array_size(all) != count)
        return error_set(err, STATUS_BAD_INPUT, "%s: want an object or a list of %d, got a list of %d", what, count,
                         (int)json_array_size(all));
    *item = json_is_array(all) ? json_array_get(all, (size_t)place) : all;
    return STATUS_OK;
}

static int read_run(const struct words *w, const struct worker_words *to, int place, int count, struct worker_run *run,
                    struct error *err)
{
    char item[ITEM];
    long long attempt = 1;
    int status = STATUS_OK;
    if (w->attempt)
        status = list_item("--attempt", w->attempt, place, count, item, err);
    if (w->attempt && !status)
        status = options_integer("--attempt", item, 1, 1000000000, &attempt, err);
    if (w->timeout && !status)
        status = list_item("--timeout", w->timeout, place, count, item, err);
    if (w->timeout && !status)
        status = options_real("--timeout", item, 0, 1e12, &run->timeout, err);
    long long until = 0;
    if (w->until && !status)
        status = list_item("--until", w->until, place, count, item, err);
    if (w->until && !status)
        status = options_integer("--until", item, 0, INT64_MAX, &until, err);
    run->until = until;
    if (!status)
        status = object_item("--data", to->data, place, count, &run->data, err);
    if (!status)
        status = object_item("--after", to->after, place, count, &run->after, err);
    run->attempt = (int)attempt;
    return status;
}

static int read_numbers(const struct words *texts, struct worker_words *w, struct error *err)
{
    long long go = -1, threads = 0;
    int status = STATUS_OK;
    w->grace = 30;
    if (texts->go)
        status = options_integer("--go", texts->go, 0, 1 << 20, &go, err);
    if (!status && texts->threads)
        status = options_integer("--threads", texts->threads, 0, 1024, &threads, err);
    if (!status && texts->grace)
        status = options_real("--grace", texts->grace, 0, 1e9, &w->grace, err);
    w->job.threads = (int)threads;
    w->go = (int)go;
    return status;
}

/* The training's words: ours, and that it is to be done. */
static char **training_words(int argc, char **argv)
{
    char **words = memory_alloc((size_t)argc + 3, sizeof *words);
    words[0] = "taper";
    words[1] = "worker";
    words[2] = "--train";
    memcpy(words + 3, argv + 1, (size_t)(argc - 1) * sizeof *words);
    return words;
}

static int read_json(const char *what, const char *text, json_t **to, struct error *err)
{
    json_error_t where;
    if (text && !(*to = json_loads(text, JSON_REJECT_DUPLICATES, &where)))
        return error_set(err, STATUS_BAD_INPUT, "%s: %s", what, where.text);
    return STATUS_OK;
}

static int read_job(struct worker_words *w, const struct words *texts, char **dirs, int count, struct error *err)
{
    w->runs = memory_alloc((size_t)count, sizeof *w->runs);
    w->job = (struct worker_job){.runs = w->runs, .count = count, .device = texts->device, .payload = texts->payload};
    int status = read_numbers(texts, w, err);
    if (!status)
        status = read_json("--data", texts->data, &w->data, err);
    if (!status)
        status = read_json("--after", texts->after, &w->after, err);
    for (int i = 0; i < count && !status; i++) {
        w->runs[i].dir = dirs[i];
        status = read_run(texts, w, i, count, &w->runs[i], err);
    }
    return status;
}

int worker_words_read(struct worker_words *w, const struct command *command, int argc, char **argv, struct error *err)
{
    struct words texts = {0};
    *w = (struct worker_words){.training = training_words(argc, argv)};
    const struct option_spec specs[] = {{.name = "attempt", .value = &texts.attempt},
                                        {.name = "go", .value = &texts.go},
                                        {.name = "device", .value = &texts.device},
                                        {.name = "threads", .value = &texts.threads},
                                        {.name = "grace", .value = &texts.grace},
                                        {.name = "timeout", .value = &texts.timeout},
                                        {.name = "until", .value = &texts.until},
                                        {.name = "processors", .value = &w->processors},
                                        {.name = "data", .value = &texts.data},
                                        {.name = "after", .value = &texts.after},
                                        {.name = "payload", .value = &texts.payload},
                                        {.name = "program", .value = &texts.program},
                                        {.name = "revision", .value = &texts.revision},
                                        {.name = "train", .flag = &w->train},
                                        {0}};
    int count, status = options_parse(command, specs, argc, argv, &count, err);
    if (!status && count < 1)
        status = command_usage(command, err, "wants run directories");
    if (!status)
        status = read_job(w, &texts, argv + 1, count, err);
    w->job.program = texts.program ? texts.program : "/proc/self/exe";
    if (status)
        worker_words_fini(w);
    return status;
}

void worker_words_fini(struct worker_words *w)
{
    json_decref(w->data);
    json_decref(w->after);
    free(w->runs);
    free(w->training);
    *w = (struct worker_words){0};
}

int worker_supervise(struct worker_words *w, struct error *err)
{
    struct worker_plan steps;
    int status = w->processors ? worker_pin(w->processors, err) : STATUS_OK;
    if (!status)
        status = worker_plan_init(&steps, &w->job, w->training, err);
    if (status)
        return status;
    const struct supervisor_plan plan = {.first = steps.first,
                                         .runs = steps.runs,
                                         .count = w->job.count,
                                         .token = getenv("TAPER_TOKEN"),
                                         .go = w->go,
                                         .grace = w->grace};
    status = supervisor_run(&plan);
    worker_plan_fini(&steps);
    exit(status); /* finer than an error's */
}

const struct option_row worker_options[] = {
    {"attempt", 0, "N,...", "the attempts' numbers (default 1)"},
    {"device", 0, "ID", "cpu, or the GPU of the slot"},
    {"threads", 0, "N", "CPU threads, shared by the runs; 0: as the configuration says"},
    {"processors", 0, "LIST", "run on these processors only, such as 0-3,8"},
    {"timeout", 0, "S,...", "end an attempt after this many seconds; 0: never"},
    {"until", 0, "N,...", "train up to this step, checkpoint, and end with exit status 7; 0: to the end"},
    {"grace", 0, "SECONDS", "between TERM and KILL (default 30)"},
    {"data", 0, "JSON", "digests that the data must have: {\"corpus\":\"...\"}, or a list of such"},
    {"after", 0, "JSON", "what to do after training: {\"fold\":true,\"bench\":{...}}, or a list of such"},
    {"payload", 0, "PROGRAM", "run this program, with the attempt's number, instead of the training"},
    {"go", 0, "FD", "wait for a byte on this descriptor first; end when it closes"},
    {"program", 0, "PATH", "the taper that the steps are done with (default this one)"},
    {"revision", 0, "TEXT", "what that calls itself"},
    {"train", 0, NULL, "do the training itself, under the worker that started this"},
    {0},
};
