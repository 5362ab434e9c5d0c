/* libFuzzer: any bytes as a journal. Taken in at once, in two pieces, and without the fast scanner, the same rows
 * must come of it, and no line twice. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/base/rundir.h"
#include "harness/store/intake_internal.h"
#include "harness/store/store_internal.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct home home;
static struct store *s;
static struct intake *in;
static char id[CONFIG_ID], *path, dir[] = "/dev/shm/fuzz_intake.XXXXXX";

static void check(int status, const struct error *err)
{
    if (status == STATUS_OK)
        return;
    fprintf(stderr, "fuzz_intake: %s\n", err->text);
    abort();
}

static int digests(const struct config *cfg, char *corpus, char *tokenizer, struct error *err)
{
    (void)cfg, (void)err;
    snprintf(corpus, 65, "c");
    snprintf(tokenizer, 65, "t");
    return STATUS_OK;
}

static int keep_id(void *arg, const struct store_run *run)
{
    (void)arg;
    memcpy(id, run->id, sizeof id);
    return 0;
}

static void clean_up(void)
{
    char command[100];
    snprintf(command, sizeof command, "rm -rf %s", dir);
    if (system(command) != 0)
        perror(dir);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    struct error err = {0};
    struct spec spec;
    struct store_submitted out;
    if (!mkdtemp(dir))
        abort();
    atexit(clean_up);
    check(home_init(&home, dir, true, &err), &err);
    check(store_open(&s, &home, STORE_WRITE, &err), &err);
    check(spec_parse(&spec, "sweep: f", 8, "f", "/", NULL, &err), &err);
    check(store_submit(s, &spec, digests, false, NULL, &out, &err), &err);
    check(store_runs_each(s, &(struct store_filter){.limit = 1}, keep_id, NULL, &err), &err);
    spec_fini(&spec);
    in = intake_create(s, &home);
    path = home_run_file(&home, id, RUNDIR_JOURNAL);
    char *run_dir = home_run_dir(&home, id);
    check(file_make_directories(run_dir, &err), &err);
    free(run_dir);
    return 0;
}

/* What is taken in is taken back: nothing is ever committed, which is most of what a pass takes. */
static void begin(void)
{
    struct error err = {0};
    check(store_group_begin(s, &err), &err);
}

static void forget(void)
{
    struct error err = {0};
    check(store_group_end(s, false, &err), &err);
    unlink(path);
}

static void append(const uint8_t *data, size_t size)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size || close(fd) != 0)
        abort();
}

static void take(struct intake_result *sum)
{
    struct intake_result out;
    struct error err = {0};
    const char *run = id;
    check(intake_pass(in, &run, 1, 0, &out, &err), &err);
    sum->lines += out.lines;
    sum->rows += out.rows;
    sum->bad += out.bad;
}

/* Every stored value, but times of intake. */
static char *rows(void)
{
    static const char sql[] = "SELECT group_concat(x, '|') FROM (SELECT step || quote(tokens) || quote(ce) || "
                              "quote(aux) || quote(lr) || quote(gate) || "
                              "quote(grad_norm) || quote(scale_mean) || quote(ms) || quote(margin) || attempt AS x "
                              "FROM step UNION ALL SELECT step || quote(site) || quote(c) || "
                              "quote(gamma_norm) FROM site_step UNION ALL SELECT step || quote(split) || quote(loss) "
                              "|| quote(tokens) FROM eval UNION ALL "
                              "SELECT quote(kind) || quote(variant) || batch || context || quote(ms) FROM bench UNION "
                              "ALL SELECT quote(val_loss) || "
                              "quote(params) || quote(fold_error) || quote(device) FROM run UNION ALL SELECT "
                              "quote(kind) || quote(text) || journal FROM event WHERE journal IS NOT NULL)";
    sqlite3_stmt *row = store_prepare(s, sql, NULL);
    if (!row || sqlite3_step(row) != SQLITE_ROW)
        abort();
    const char *text = (const char *)sqlite3_column_text(row, 0);
    char *copy = strdup(text ? text : "");
    sqlite3_reset(row);
    return copy;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct intake_result sums[3] = {{0}};
    char *stored[3];
    if (size < 2)
        return 0;
    size_t cut = (size_t)data[0] * (size - 1) / 256;
    data++;
    size--;
    int64_t lines = 0;
    for (size_t i = 0; i < size; i++)
        lines += data[i] == '\n';
    for (int way = 0; way < 3; way++) {
        intake_scan_disable(way == 2);
        begin();
        append(data, way == 1 ? cut : size);
        take(&sums[way]);
        if (way == 1) {
            append(data + cut, size - cut);
            take(&sums[way]);
        }
        take(&sums[way]); /* nothing is left */
        stored[way] = rows();
        forget();
    }
    for (int way = 0; way < 3; way++)
        if (sums[way].lines != lines || sums[way].rows != sums[0].rows || sums[way].bad != sums[0].bad ||
            strcmp(stored[way], stored[0]) != 0) {
            fprintf(stderr, "way %d: %lld lines %lld rows %lld bad\n%s\n%s\n", way, (long long)sums[way].lines,
                    (long long)sums[way].rows, (long long)sums[way].bad, stored[0], stored[way]);
            abort();
        }
    for (int way = 0; way < 3; way++)
        free(stored[way]);
    return 0;
}
