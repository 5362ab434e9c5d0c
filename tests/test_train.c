/* Whole training runs, by the real program: killed and resumed, stopped, refused, out of disk, not finite. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/base/memory.h"
#include "core/base/safetensors.h"
#include "core/train/train.h"
#include "tests/support/data.h"
#include "tests/support/tiny.h"

static char *folder, *whole; /* whole: a run that nothing disturbed */

static char *in_folder(const char *name)
{
    return file_join(folder, name);
}

static int run_program(const char *dir, const char *const *extra)
{
    char *log = memory_format("%s.log", dir), **argv = tiny_command(dir, extra);
    int code = tiny_wait(tiny_spawn(argv, log));
    free(argv);
    free(log);
    return code;
}

static char *log_of(const char *dir)
{
    size_t size;
    char *log = memory_format("%s.log", dir), *text = (char *)data_file_read(log, &size);
    free(log);
    return text;
}

static int make_folder(void **state)
{
    (void)state;
    folder = data_folder_make();
    tiny_cache(folder);
    whole = in_folder("whole");
    if (run_program(whole, NULL) != 0)
        print_error("the undisturbed run failed: %s\n", log_of(whole));
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    free(whole);
    data_folder_remove(folder);
    return 0;
}

static unsigned char *checkpoint_of(const char *dir, size_t *size)
{
    char *path = file_join(dir, "checkpoint.safetensors");
    unsigned char *bytes = data_file_read(path, size);
    free(path);
    return bytes;
}

static void expect_same(const char *want, const char *dir)
{
    size_t a_size, b_size;
    unsigned char *a = checkpoint_of(want, &a_size), *b = checkpoint_of(dir, &b_size);
    assert_int_equal(a_size, b_size);
    assert_memory_equal(a, b, a_size);
    char *x = tiny_journal(want), *y = tiny_journal(dir);
    size_t differ = 0;
    while (x[differ] && x[differ] == y[differ])
        differ++;
    if (x[differ] || y[differ])
        fail_msg("%s: the journal differs from the undisturbed one's at '%.60s', want '%.60s'", dir, y + differ,
                 x + differ);
    char *p = file_join(want, "samples.txt"), *q = file_join(dir, "samples.txt");
    free(a);
    free(b);
    a = data_file_read(p, &a_size);
    b = data_file_read(q, &b_size);
    assert_int_equal(a_size, b_size);
    assert_memory_equal(a, b, a_size);
    free(a);
    free(b);
    free(x);
    free(y);
    free(p);
    free(q);
}

static void expect_same_run(const char *dir)
{
    expect_same(whole, dir);
}

static off_t size_of(const char *dir, const char *name)
{
    struct stat st;
    char *path = file_join(dir, name);
    off_t size = stat(path, &st) == 0 ? st.st_size : 0;
    free(path);
    return size;
}

/* Start a run and send `number` once its journal has grown past a share of the undisturbed one's. */
static int interrupt(const char *dir, double share, int number, const char *const *extra)
{
    char **argv = tiny_command(dir, extra);
    pid_t pid = tiny_spawn(argv, NULL);
    off_t until = (off_t)(share * (double)size_of(whole, "journal.jsonl"));
    for (siginfo_t info = {0}; size_of(dir, "journal.jsonl") < until && info.si_pid == 0; sched_yield())
        waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT);
    kill(pid, number);
    free(argv);
    return tiny_wait(pid);
}

static void undisturbed(void **state)
{
    (void)state;
    char *journal = tiny_journal(whole);
    assert_non_null(strstr(journal, "\"step 000000060 \""));
    assert_non_null(strstr(journal, "\"eval 000000060 valid\""));
    assert_non_null(strstr(journal, "\"state\": \"done\""));
    free(journal);
    assert_true(size_of(whole, "samples.txt") > 10);
    assert_true(size_of(whole, "tokenizer/vocab.json") > 1000);
}

static void killed_and_resumed(void **state)
{
    (void)state;
    const char *const resume[] = {"--resume", NULL};
    uint64_t random = 20260529;
    for (int round = 0; round < 4; round++) {
        char *name = memory_format("killed-%d", round), *dir = in_folder(name);
        double share = 0;
        int kills = 0;
        while (kills < 1 + round && share < 0.9) { /* the later rounds are killed several times */
            share += 0.05 + 0.3 * data_random(&random, 1000) / 1000;
            if (interrupt(dir, share, SIGKILL, resume) != 128 + SIGKILL)
                break;
            kills++;
        }
        assert_true(kills > 0);
        assert_int_equal(run_program(dir, resume), 0);
        expect_same_run(dir);
        free(dir);
        free(name);
    }
}

/* A line torn by a kill is cut off before the next attempt appends. */
static void torn_line(void **state)
{
    (void)state;
    const char *const resume[] = {"--resume", NULL};
    char *dir = in_folder("torn"), *path = file_join(dir, "journal.jsonl");
    assert_int_equal(interrupt(dir, 0.5, SIGKILL, NULL), 128 + SIGKILL);
    FILE *out = fopen(path, "a");
    fputs("{\"table\":\"step\",\"step\":31,\"ce\":0.1", out);
    fclose(out);
    assert_int_equal(run_program(dir, resume), 0);
    expect_same_run(dir);
    free(path);
    free(dir);
}

/* Rows that a checkpoint stands on are gone from the journal: the run says so and starts anew, and lacks none in the
 * end. */
static void uncovered_checkpoint(void **state)
{
    (void)state;
    const char *const resume[] = {"--resume", NULL};
    char *dir = in_folder("uncovered");
    assert_int_equal(interrupt(dir, 0.8, SIGTERM, NULL), 3);
    char *cut = memory_format("cd '%s' && head -n 3 journal.jsonl > j && mv j journal.jsonl", dir);
    char *told = memory_format("cd '%s' && grep -q '\"kind\":\"uncovered\"' journal.jsonl && "
                               "[ -s checkpoint.uncovered.safetensors ]",
                               dir);
    assert_int_equal(system(cut), 0);
    assert_int_equal(run_program(dir, resume), 0);
    assert_int_equal(system(told), 0);
    expect_same_run(dir);
    free(cut);
    free(told);
    free(dir);
}

static void stopped_and_resumed(void **state)
{
    (void)state;
    const char *const resume[] = {"--resume", NULL};
    char *dir = in_folder("stopped");
    assert_int_equal(interrupt(dir, 0.4, SIGTERM, NULL), 3);
    char *path = file_join(dir, "journal.jsonl"), *journal = tiny_journal(dir);
    size_t size;
    assert_null(strstr(journal, "\"step 000000060 \""));
    free(journal);
    journal = (char *)data_file_read(path, &size);
    assert_non_null(strstr(journal, "\"state\":\"stopped\""));
    free(journal);
    free(path);
    assert_int_equal(run_program(dir, resume), 0);
    expect_same_run(dir);
    free(dir);
}

/* Cadences that divide neither the run nor each other, several micro-batches a step, an evaluation that takes longer
 * than a step: stopped and killed wherever it happens to be, evaluations and the last step among them. */
static void odd_cadences_stopped_anywhere(void **state)
{
    (void)state;
    const char *const odd[] = {"--resume",       "--set", "train.accumulate=3", "--set", "train.batch=2",    "--set",
                               "train.steps=23", "--set", "log.every=7",        "--set", "eval.every=2",     "--set",
                               "eval.tokens=0",  "--set", "checkpoint.every=5", "--set", "data.size=300000", NULL};
    char *calm = in_folder("calm"), *dir = in_folder("odd");
    assert_int_equal(run_program(calm, odd), 0);
    int code = 3, stops = 0, whole_size = (int)size_of(calm, "journal.jsonl");
    for (int i = 0; i < 12 && code != 0; i++) {
        char **argv = tiny_command(dir, odd);
        pid_t pid = tiny_spawn(argv, NULL);
        usleep(20000 + 15000 * (useconds_t)(i % 7)); /* any moment will do */
        if (i % 4 != 3)
            for (siginfo_t info = {0}; size_of(dir, "journal.jsonl") < whole_size * i / 10 && info.si_pid == 0;
                 sched_yield())
                waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT);
        kill(pid, i % 4 == 3 ? SIGKILL : SIGTERM);
        code = tiny_wait(pid);
        free(argv);
        stops += code == 3;
        if (code != 0 && code != 3 && code != 128 + SIGTERM && code != 128 + SIGKILL)
            fail_msg("exit status %d", code);
    }
    if (code != 0)
        assert_int_equal(run_program(dir, odd), 0);
    print_message("# stopped %d times\n", stops);
    assert_true(stops > 0);
    expect_same(calm, dir);
    free(calm);
    free(dir);
}

static void finished_run_stays(void **state)
{
    (void)state;
    const char *const resume[] = {"--resume", NULL};
    assert_int_equal(run_program(whole, resume), 0);
    expect_same_run(whole);
    assert_int_equal(run_program(whole, NULL), 2); /* without --resume a directory in use is refused */
    char *log = log_of(whole);
    assert_non_null(strstr(log, "already holds a run"));
    free(log);
}

static void other_configuration(void **state)
{
    (void)state;
    const char *const other[] = {"--resume", "--set", "model.layers=3", "--set", "train.lr=1e-3", NULL};
    assert_int_equal(run_program(whole, other), 2);
    char *log = log_of(whole);
    assert_non_null(strstr(log, "model.layers: want 3, found 2"));
    assert_non_null(strstr(log, "train.lr: want 0.001, found 0.003"));
    free(log);
}

/* The checkpoint of another model under the right name: every misfit is named, nothing is overwritten. */
static void foreign_checkpoint(void **state)
{
    (void)state;
    const char *const wider[] = {"--set", "model.d_model=32", "--set", "train.steps=40", NULL};
    const char *const resume[] = {"--resume", NULL};
    char *dir = in_folder("foreign"), *other = in_folder("wider");
    assert_int_equal(run_program(other, wider), 0);
    size_t size;
    unsigned char *bytes = checkpoint_of(other, &size);
    free(data_file_write(dir, "checkpoint.safetensors", bytes, size));
    assert_int_equal(run_program(dir, resume), 2);
    char *log = log_of(dir);
    assert_non_null(strstr(log, "model.d_model: want 16, found 32"));
    free(log);
    assert_int_equal(size_of(dir, "checkpoint.safetensors"), size);
    free(bytes);
    free(dir);
    free(other);
}

/* Overwrite some weights in place: the file still holds together. */
static void overwrite(const char *dir, const char *name)
{
    char *path = file_join(dir, name);
    FILE *f = fopen(path, "r+");
    const float wrong[100] = {0.5f};
    assert_non_null(f);
    assert_int_equal(fseeko(f, -8000, SEEK_END), 0);
    assert_int_equal(fwrite(wrong, sizeof wrong, 1, f), 1);
    fclose(f);
    free(path);
}

static void expect_told(const char *dir, const char *text)
{
    char *told = memory_format("cd '%s' && grep -q '\"kind\":\"damaged\".*%s' journal.jsonl && "
                               "[ -s checkpoint.safetensors.damaged ] && [ ! -e checkpoint.before.safetensors ]",
                               dir, text);
    assert_int_equal(system(told), 0);
    free(told);
}

/* One that is not whole, or not what was written, is set aside: the one before it is gone on from, or the seed. */
static void damaged_checkpoint(void **state)
{
    (void)state;
    const char *const resume[] = {"--resume", NULL};
    char *dir = in_folder("damaged"), *second = in_folder("damaged-second");
    size_t size;
    unsigned char *bytes = checkpoint_of(whole, &size);
    free(data_file_write(dir, "checkpoint.safetensors", bytes, size - 100));
    assert_int_equal(run_program(dir, resume), 0);
    expect_told(dir, "the training starts anew");
    expect_same_run(dir);
    assert_int_equal(interrupt(second, 0.8, SIGTERM, NULL), 3);
    assert_true(size_of(second, "checkpoint.before.safetensors") > 0);
    overwrite(second, "checkpoint.safetensors");
    assert_int_equal(run_program(second, resume), 0);
    expect_told(second, "does not match its digest.*the one before it, of step");
    expect_same_run(second);
    free(bytes);
    free(dir);
    free(second);
}

/* A file-size limit stands in for a full disk: the checkpoint cannot be written, the old one stays, no rest is left. */
static void disk_full(void **state)
{
    (void)state;
    const char *const resume[] = {"--resume", NULL};
    char *dir = in_folder("full");
    assert_int_equal(interrupt(dir, 0.5, SIGKILL, NULL), 128 + SIGKILL);
    char *leftover =
        memory_format("touch '%s'/checkpoint.safetensors.writing-aB3dEf '%s'/checkpoint.safetensors.backup", dir, dir);
    assert_int_equal(system(leftover), 0); /* as from a kill while a checkpoint was written */
    free(leftover);
    size_t before_size, after_size;
    unsigned char *before = checkpoint_of(dir, &before_size);
    struct rlimit old, small;
    getrlimit(RLIMIT_FSIZE, &old);
    small = old;
    small.rlim_cur = before_size - 1000; /* room for the whole journal, not for a checkpoint */
    assert_true(size_of(whole, "journal.jsonl") < (off_t)small.rlim_cur);
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &small);
    int code = run_program(dir, resume);
    setrlimit(RLIMIT_FSIZE, &old);
    if (code != error_exit_code(STATUS_DISK)) {
        char *said = log_of(dir);
        fail_msg("exit status %d: %s", code, said);
    }
    unsigned char *after = checkpoint_of(dir, &after_size);
    assert_int_equal(before_size, after_size);
    assert_memory_equal(before, after, before_size);
    char *command = memory_format(
        "test -z \"$(find '%s' -name '*.writing-*')\" -a -e '%s'/checkpoint.safetensors.backup", dir, dir);
    assert_int_equal(system(command), 0);
    assert_int_equal(run_program(dir, resume), 0); /* with space back it goes on to the same end */
    expect_same_run(dir);
    free(command);
    free(before);
    free(after);
    free(dir);
}

static void not_finite(void **state)
{
    (void)state;
    const char *const wild[] = {"train.lr=100",          "train.clip=0",
                                "train.lr_warmup=0",     "train.steps=400",
                                "checkpoint.every=1",    "train.lr_schedule=constant",
                                "train.weight_decay=10", NULL};
    struct config cfg = tiny_config(wild);
    struct train_result result;
    struct error err = {0};
    char *dir = in_folder("wild");
    assert_int_equal(train_run(&cfg, &(struct train_options){.dir = dir}, &result, &err), STATUS_DIVERGED);
    if (strncmp(err.text, "step ", 5) != 0 || !strstr(err.text, ": not finite"))
        fail_msg("'%s' does not say which step is not finite", err.text);
    struct safetensors f;
    char *path = file_join(dir, "checkpoint.safetensors");
    int64_t step;
    assert_int_equal(safetensors_open(&f, path, &err), STATUS_OK);
    assert_int_equal(safetensors_read_i64(&f, "state/step", 1, (int64_t[]){1}, &step, &err), STATUS_OK);
    assert_true(step >= 1 && step <= result.step && step < 400);
    for (size_t i = 0; i < f.count; i++) {                /* the checkpoint that is kept is a good one */
        if (strncmp(f.tensors[i].name, "state/", 6) == 0) /* the target is NaN until it is frozen */
            continue;
        double *values = memory_alloc(f.tensors[i].count, sizeof *values);
        safetensors_read_f64(&f, f.tensors[i].name, f.tensors[i].rank, f.tensors[i].shape, values, &err);
        for (size_t j = 0; j < f.tensors[i].count; j++)
            assert_true(isfinite(values[j]));
        free(values);
    }
    safetensors_close(&f);
    free(path);
    free(dir);
}

/* Proposition 1: under a final norm (eps to zero) the gradient at the stream has no radial part; without one it has. */
static void radial_gradient(void **state)
{
    (void)state;
    const char *const normed[] = {"taper.sites=internal", "model.norm_eps=1e-12", "aux.lambda=0", NULL};
    const char *const bare[] = {"taper.sites=all", "model.norm_eps=1e-12", "aux.lambda=0", NULL};
    double share[2];
    for (int i = 0; i < 2; i++) {
        struct config cfg = tiny_config(i ? bare : normed);
        struct train_result result;
        struct error err = {0};
        char *dir = in_folder(i ? "bare" : "normed"), *path = file_join(dir, "journal.jsonl"), *text = NULL;
        if (train_run(&cfg, &(struct train_options){.dir = dir}, &result, &err))
            fail_msg("%s", err.text);
        FILE *in = fopen(path, "r");
        size_t room = 0;
        while (getline(&text, &room, in) > 0) {
            json_t *line = json_loads(text, 0, NULL);
            if (json_object_get(line, "radial"))
                share[i] = json_number_value(json_object_get(line, "radial_rms")) /
                           json_number_value(json_object_get(line, "tangential_rms"));
            if (!i && json_object_get(line, "radial"))
                assert_true(share[i] < 1e-6);
            json_decref(line);
        }
        fclose(in);
        free(text);
        free(path);
        free(dir);
    }
    assert_true(share[1] > 1e-2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(undisturbed),         cmocka_unit_test(killed_and_resumed),
        cmocka_unit_test(torn_line),           cmocka_unit_test(uncovered_checkpoint),
        cmocka_unit_test(stopped_and_resumed), cmocka_unit_test(odd_cadences_stopped_anywhere),
        cmocka_unit_test(finished_run_stays),  cmocka_unit_test(other_configuration),
        cmocka_unit_test(foreign_checkpoint),  cmocka_unit_test(damaged_checkpoint),
        cmocka_unit_test(disk_full),           cmocka_unit_test(not_finite),
        cmocka_unit_test(radial_gradient),
    };
    return cmocka_run_group_tests_name("train", tests, make_folder, remove_folder);
}
