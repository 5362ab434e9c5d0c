#include "tests/support/tiny.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/base/file.h"
#include "core/base/memory.h"

static const char *const settings[] = {
    "model.d_model=16",   "model.layers=2",  "model.heads=2",      "model.context=16", "model.vocab=300",
    "data.size=60000",    "taper.sites=all", "aux.lambda=0.1",     "gate.warmup=10",   "gate.end=30",
    "train.steps=60",     "train.batch=4",   "train.accumulate=2", "train.lr=3e-3",    "log.every=1",
    "checkpoint.every=7", "eval.every=20",   "sample.tokens=8",    "threads=2",        NULL,
};

void tiny_cache(const char *folder)
{
    char *path = file_join(folder, "cache");
    setenv("TAPER_CACHE", path, 1);
    free(path);
}

struct config tiny_config(const char *const *pairs)
{
    struct config cfg;
    struct error err = {0};
    config_init(&cfg);
    for (int i = 0; settings[i]; i++)
        if (config_set_pair(&cfg, settings[i], &err))
            fail_msg("%s", err.text);
    for (int i = 0; pairs && pairs[i]; i++)
        if (config_set_pair(&cfg, pairs[i], &err))
            fail_msg("%s", err.text);
    if (config_finish(&cfg, &err))
        fail_msg("%s", err.text);
    return cfg;
}

char **tiny_command(const char *dir, const char *const *extra)
{
    const char *program = getenv("TAPER");
    size_t most = 2 * sizeof settings / sizeof settings[0] + 64, n = 0;
    char **argv = memory_alloc(most, sizeof *argv);
    argv[n++] = (char *)(program ? program : "./taper");
    argv[n++] = (char *)"train";
    argv[n++] = (char *)"--out";
    argv[n++] = (char *)dir;
    for (int i = 0; settings[i]; i++) {
        argv[n++] = (char *)"--set";
        argv[n++] = (char *)settings[i];
    }
    for (int i = 0; extra && extra[i]; i++) {
        assert_true(n + 1 < most);
        argv[n++] = (char *)extra[i];
    }
    return argv;
}

pid_t tiny_spawn(char *const *argv, const char *log)
{
    pid_t pid = fork();
    if (pid == 0) {
        int fd = open(log ? log : "/dev/null", O_WRONLY | O_CREAT | O_TRUNC, 0600);
        dup2(fd, 1);
        dup2(fd, 2);
        execv(argv[0], argv);
        _exit(127);
    }
    assert_true(pid > 0);
    return pid;
}

int tiny_wait(pid_t pid)
{
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* "step 12", "eval 20 valid", "run": what the last line of counts. */
static char *key_of(const json_t *line)
{
    const char *split = json_string_value(json_object_get(line, "split"));
    return memory_format("%s %09lld %s", json_string_value(json_object_get(line, "table")),
                         (long long)json_integer_value(json_object_get(line, "step")), split ? split : "");
}

char *tiny_journal(const char *dir)
{
    char *path = file_join(dir, "journal.jsonl"), *text = NULL;
    json_t *last = json_object();
    FILE *in = fopen(path, "r");
    assert_non_null(in);
    size_t room = 0;
    while (getline(&text, &room, in) > 0) {
        json_t *line = json_loads(text, 0, NULL);
        if (!line)
            fail_msg("%s: not JSON: %s", path, text);
        json_object_del(line, "ms");
        json_object_del(line, "step_ms");
        json_object_del(line, "attempt");
        char *key = key_of(line);
        const char *ended = json_string_value(json_object_get(line, "state"));
        if (strncmp(key, "event", 5) != 0 && (!ended || strcmp(ended, "done") == 0))
            json_object_set(last, key, line);
        free(key);
        json_decref(line);
    }
    fclose(in);
    free(text);
    free(path);
    char *out = json_dumps(last, JSON_SORT_KEYS | JSON_INDENT(1) | JSON_REAL_PRECISION(17));
    json_decref(last);
    return out;
}
