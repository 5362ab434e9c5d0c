/* taper data corpus: the built-in stories as a text. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/data/corpus/corpus.h"
#include "core/base/file.h"
#include "harness/verbs/cmd_data.h"
#include "harness/verbs/commands.h"
#include "harness/base/options.h"

struct output {
    FILE *stream;
    const char *name;
    uint64_t done, size;
    struct progress progress;
};

static int append(void *arg, const char *text, size_t length, struct error *err)
{
    struct output *o = arg;
    if (fwrite(text, 1, length, o->stream) != length)
        return error_errno(err, STATUS_FAILED, errno, "%s: cannot write", o->name);
    o->done += length;
    if (o->progress.report)
        o->progress.report(o->progress.arg, "writing stories", o->done < o->size ? o->done : o->size, o->size);
    return STATUS_OK;
}

static int write_corpus(const char *out, uint64_t seed, uint64_t size, int threads, struct error *err)
{
    struct output o = {.stream = stdout, .name = "standard output", .size = size, .progress = data_progress()};
    struct file_writer w = {0};
    bool to_file = strcmp(out, "-") != 0;
    if (to_file) {
        int status = file_create(&w, out, err);
        if (status)
            return status;
        o.stream = w.stream;
        o.name = out;
    }
    int status = corpus_generate(seed, size, threads, append, &o, err);
    data_progress_end(&o.progress);
    if (to_file && !status)
        return file_commit(&w, err);
    file_abandon(&w);
    if (!status && fflush(stdout) != 0)
        status = error_errno(err, STATUS_FAILED, errno, "standard output: cannot write");
    return status;
}

int data_corpus(int argc, char **argv, struct error *err)
{
    const char *size_text = NULL, *seed_text = "1", *threads_text = NULL;
    const struct option_spec specs[] = {{.name = "size", .value = &size_text},
                                        {.name = "seed", .value = &seed_text},
                                        {.name = "threads", .value = &threads_text},
                                        {0}};
    int operands, threads;
    unsigned long long size;
    long long seed;
    int status = options_parse(&cmd_data, specs, argc, argv, &operands, err);
    if (status)
        return status;
    if (operands != 1 || !size_text)
        return command_usage(&cmd_data, err, "corpus wants --size SIZE [--seed SEED] OUT");
    status = options_size("--size", size_text, &size, err);
    if (!status && size == 0)
        status = error_set(err, STATUS_BAD_INPUT, "--size: want at least one byte");
    if (!status)
        status = options_integer("--seed", seed_text, 0, INT64_MAX, &seed, err);
    if (!status)
        status = data_threads(threads_text, &threads, err);
    return status ? status : write_corpus(argv[1], (uint64_t)seed, size, threads, err);
}
