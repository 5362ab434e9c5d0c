/* Slurm's words: what its commands print, understood or passed over; the calls to them; what sbatch is told. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/base/file.h"
#include "core/base/memory.h"
#include "harness/queue/slurm_calls.h"
#include "harness/queue/slurm_script.h"
#include "harness/queue/slurm_state.h"
#include "harness/queue/slurm_tuning.h"

static void rows_of_squeue(void **state)
{
    (void)state;
    const char *at = "12|taper-a-1|RUNNING|None|n[1-2]|1-02:03:04|2-00:00:00\n"
                     "slurm_load_jobs error: something\n"
                     "13|a|b|c|d|e|f|g\n"
                     "|no number|RUNNING|None||0:00|1:00\n"
                     "14_[3-5%3]|taper-b|PENDING|Priority||0:00|UNLIMITED\n"
                     "15|x|CANCELLED by 1000|None||0:10|1:00:00\n"
                     "16|y|SOMETHING_NEW|None|n1|0:10|1:00:00";
    struct slurm_row row;
    assert_true(slurm_row_next(&at, &row));
    assert_string_equal(row.id, "12");
    assert_string_equal(row.name, "taper-a-1");
    assert_int_equal(row.phase, SLURM_RUNNING);
    assert_string_equal(row.reason, "");
    assert_string_equal(row.nodes, "n[1-2]");
    assert_true(row.used == 93784 && row.limit == 172800);
    assert_true(slurm_row_next(&at, &row));
    assert_string_equal(row.id, "14_[3-5%3]");
    assert_int_equal(row.phase, SLURM_PENDING);
    assert_string_equal(row.reason, "Priority");
    assert_true(row.limit == 0);
    assert_true(slurm_row_next(&at, &row));
    assert_int_equal(row.phase, SLURM_OVER);
    assert_int_equal(row.outcome, OUTCOME_REVOKED);
    assert_true(slurm_row_next(&at, &row));
    assert_int_equal(row.phase, SLURM_RUNNING); /* a state of another Slurm: not over */
    assert_false(slurm_row_next(&at, &row));
    at = "";
    assert_false(slurm_row_next(&at, &row));
}

static void ends_have_causes(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        enum outcome outcome;
    } ends[] = {{"COMPLETED", OUTCOME_FAILED},   {"FAILED", OUTCOME_FAILED},       {"CANCELLED", OUTCOME_REVOKED},
                {"TIMEOUT", OUTCOME_TIME_LIMIT}, {"DEADLINE", OUTCOME_TIME_LIMIT}, {"PREEMPTED", OUTCOME_PREEMPTED},
                {"NODE_FAIL", OUTCOME_NODE},     {"BOOT_FAIL", OUTCOME_NODE},      {"OUT_OF_MEMORY", OUTCOME_MEMORY}};
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        struct slurm_row row;
        char *line = memory_format("1|n|%s|None|n1|0:01|1:00", ends[i].name);
        const char *at = line;
        assert_true(slurm_row_next(&at, &row));
        assert_int_equal(row.phase, SLURM_OVER);
        assert_int_equal(row.outcome, ends[i].outcome);
        free(line);
    }
}

static void one_job_of_scontrol_and_sacct(void **state)
{
    (void)state;
    struct slurm_row row;
    assert_true(slurm_row_of_scontrol("JobId=7 JobName=taper-x UserId=a(1) JobState=FAILED Reason=NonZeroExitCode "
                                      "Dependency=(null) ExitCode=126:0 RunTime=00:01:03 TimeLimit=01:00:00 "
                                      "ReqNodeList=(null) ExcNodeList=(null) NodeList=n3 BatchHost=n3\n",
                                      &row));
    assert_string_equal(row.id, "7");
    assert_string_equal(row.name, "taper-x");
    assert_string_equal(row.reason, "NonZeroExitCode");
    assert_string_equal(row.nodes, "n3");
    assert_int_equal(row.code, 126);
    assert_true(row.used == 63 && row.limit == 3600);
    assert_false(slurm_row_of_scontrol("slurm_load_jobs error: Invalid job id specified\n", &row));
    assert_false(slurm_row_of_scontrol("", &row));
    assert_true(slurm_row_of_sacct("7|taper-x|CANCELLED by 5\n7.batch|batch|CANCELLED\n", &row));
    assert_int_equal(row.outcome, OUTCOME_REVOKED);
    assert_false(slurm_row_of_sacct("", &row));
    assert_false(slurm_row_of_sacct("Slurm accounting storage is disabled\n", &row));
}

static void lengths_of_time(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double seconds;
    } times[] = {{"0:00", 0},        {"1:02", 62},     {"1:00:00", 3600}, {"2-00:00:01", 172801}, {"1-02", 93600},
                 {"1-02:30", 95400}, {"UNLIMITED", 0}, {"", 0},           {"INVALID", 0}};
    for (size_t i = 0; i < sizeof times / sizeof times[0]; i++)
        assert_true(slurm_seconds(times[i].text) == times[i].seconds);
}

static void what_is_final_and_what_is_not(void **state)
{
    (void)state;
    assert_true(slurm_refuses("sbatch: error: Batch job submission failed: Invalid partition name specified"));
    assert_true(slurm_refuses("sbatch: error: Batch job submission failed: Invalid account or account/partition "
                              "combination specified"));
    assert_false(slurm_refuses("sbatch: error: Batch job submission failed: Unable to contact slurm controller"));
    assert_false(slurm_refuses("sbatch: error: QOSMaxSubmitJobPerUserLimit"));
    assert_false(slurm_refuses("sbatch: error: Batch job submission failed: Socket timed out on send/recv operation"));
    struct slurm_row row;
    const char *at = "1|n|PENDING|DependencyNeverSatisfied||0:00|1:00\n1|n|PENDING|Priority||0:00|1:00\n"
                     "1|n|PENDING|JobHeldAdmin||0:00|1:00\n1|n|PENDING|BadConstraints||0:00|1:00\n";
    const enum outcome want[] = {OUTCOME_DEPENDENCY, OUTCOME_COUNT, OUTCOME_COUNT, OUTCOME_REFUSED};
    for (int i = 0; i < 4; i++) {
        assert_true(slurm_row_next(&at, &row));
        assert_int_equal(slurm_never(&row), want[i]);
    }
}

/* ------------------------------------------------------------------------------------------ calls */

struct answers {
    int count, failed, silent;
    char out[64], err[64];
};

static void on_reply(void *arg, const struct slurm_reply *reply)
{
    struct answers *a = arg;
    a->count++;
    a->failed += reply->answered && reply->code != 0;
    a->silent += !reply->answered;
    snprintf(a->out, sizeof a->out, "%.60s", reply->out);
    slurm_reply_text(reply, a->err, sizeof a->err);
}

static void calls_answer_fail_and_end(void **state)
{
    (void)state;
    uv_loop_t loop;
    struct answers a = {0};
    uv_loop_init(&loop);
    struct slurm_calls *calls = slurm_calls_create(&loop, 0.3);
    setenv("SQUEUE_FORMAT", "%i", 1);
    const char *const fine[] = {"sh", "-c", "echo \"${SQUEUE_FORMAT-unset} $TAPER_CALL\"", NULL};
    const char *const bad[] = {"sh", "-c", "echo one >&2; echo two >&2; exit 3", NULL};
    const char *const hangs[] = {"sleep", "60", NULL};
    const char *const absent[] = {"no-such-command-here", NULL};
    struct slurm_calls *clean = slurm_calls_create(&loop, 5); /* made with the variable set */
    slurm_call(clean, fine, on_reply, &a);
    uv_run(&loop, UV_RUN_DEFAULT);
    assert_string_equal(a.out, "unset 1\n");
    slurm_call(calls, bad, on_reply, &a);
    uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(a.failed, 1);
    assert_string_equal(a.err, "two");
    slurm_call(calls, absent, on_reply, &a);
    uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(a.silent, 1);
    assert_non_null(strstr(a.err, "no-such-command-here"));
    a = (struct answers){0};
    for (int i = 0; i < 6; i++) /* more than run at once: the limit of time is each one's own */
        slurm_call(calls, hangs, on_reply, &a);
    uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(a.silent, 6);
    assert_string_equal(a.err, "no answer in time");
    assert_int_equal(slurm_calls_count(calls, "sleep"), 6);
    slurm_call(calls, hangs, on_reply, &a);
    slurm_calls_destroy(calls);
    slurm_calls_destroy(clean);
    uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(a.count, 6); /* nobody is told after the end */
    assert_int_equal(uv_loop_close(&loop), 0);
    unsetenv("SQUEUE_FORMAT");
}

/* ------------------------------------------------------------------------------------------ the script */

static bool has_word(char *const *words, const char *word)
{
    for (int i = 0; words[i]; i++)
        if (strcmp(words[i], word) == 0)
            return true;
    return false;
}

static void sbatch_is_told(void **state)
{
    (void)state;
    char folder[] = "/tmp/taper-b.XXXXXX", *words[SLURM_WORDS_MOST] = {NULL};
    struct error err = {0};
    assert_non_null(mkdtemp(folder));
    char *dir = memory_format("%s/it's 1\n2", folder);
    assert_int_equal(file_make_directories(dir, NULL), STATUS_OK);
    const struct executor_run run = {.dir = dir, .attempt = 3, .timeout = 61};
    struct executor_launch launch = {.runs = &run,
                                     .count = 1,
                                     .device = "cuda",
                                     .grace = 29.5,
                                     .options = "{\"before\":[\"ulimit -c 0\"],\"cpus\":4,\"extra\":[\"--exclusive\","
                                                "\"--comment=a b\"],\"modules\":[\"cuda/12\"],\"partition\":\"p\"}"};
    const struct slurm_script script = {"taper-x", "3-ff", "/opt/it's/taper", NULL};
    assert_int_equal(slurm_script_write(&script, &launch, words, SLURM_WORDS_MOST, &err), STATUS_OK);
    static const char *const wanted[] = {"--hold",      "--parsable",         "--no-requeue",  "--job-name=taper-x",
                                         "--exclusive", "--signal=B:TERM@30", "--partition=p", "--cpus-per-task=4",
                                         "--gpus=1",    "--comment=a b",      "--time=3"};
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++)
        assert_true(has_word(words, wanted[i]));
    char *path = memory_format("%s/batch-3.sh", dir), *check = memory_format("bash -n '%s/'*/batch-3.sh", folder);
    struct file_map map;
    assert_int_equal(file_map_open(&map, path, &err), STATUS_OK);
    char *text = memory_format("%.*s", (int)map.size, (const char *)map.data);
    assert_non_null(strstr(text, "\nmodule load cuda/12\nulimit -c 0\n"));
    assert_non_null(strstr(text, "export TAPER_TOKEN=3-ff\n"));
    assert_non_null(strstr(text, "exec '/opt/it'\\''s/taper' worker "));
    assert_null(strstr(text, "'--device'"));
    assert_null(strstr(text, "'--go'"));
    assert_int_equal(system(check), 0);
    file_map_close(&map);
    for (int i = 0; words[i]; i++)
        free(words[i]);
    launch.options = "{\"gres\":\"gpu:a100:2\",\"time\":90}";
    memset(words, 0, sizeof words);
    assert_int_equal(slurm_script_write(&script, &launch, words, SLURM_WORDS_MOST, &err), STATUS_OK);
    assert_true(has_word(words, "--gres=gpu:a100:2") && has_word(words, "--time=2") && !has_word(words, "--gpus=1"));
    for (int i = 0; words[i]; i++)
        free(words[i]);
    memset(words, 0, sizeof words);
    assert_int_equal(slurm_script_write(&script, &launch, words, 8, &err), STATUS_BAD_INPUT);
    assert_null(words[0]);
    char *command = memory_format("rm -rf '%s'", folder);
    assert_int_equal(system(command), 0);
    free(command), free(check), free(path), free(text), free(dir);
}

static void the_pace_can_be_set(void **state)
{
    (void)state;
    struct slurm_tuning t;
    struct error err = {0};
    assert_int_equal(slurm_tuning_read(&t, NULL, &err), STATUS_OK);
    assert_true(t.poll == 5 && t.quiet == 60 && t.pace == 1 && t.timeout == 60 && t.settle == 10 && t.lost == 90);
    assert_int_equal(slurm_tuning_read(&t, "poll=120,pace=0.5", &err), STATUS_OK);
    assert_true(t.poll == 120 && t.quiet == 120 && t.pace == 0.5);
    static const char *const wrong[] = {"pol=3", "poll", "poll=", "poll=fast", "poll=0", "poll=3;pace=1", ",poll=3"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        assert_int_equal(slurm_tuning_read(&t, wrong[i], &err), STATUS_BAD_INPUT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_of_squeue),
        cmocka_unit_test(ends_have_causes),
        cmocka_unit_test(one_job_of_scontrol_and_sacct),
        cmocka_unit_test(lengths_of_time),
        cmocka_unit_test(what_is_final_and_what_is_not),
        cmocka_unit_test(calls_answer_fail_and_end),
        cmocka_unit_test(sbatch_is_told),
        cmocka_unit_test(the_pace_can_be_set),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
