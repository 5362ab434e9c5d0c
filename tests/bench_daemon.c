/* What the harness costs: submitting and showing 10,000 runs, and 1,000 runs that do nothing through two slots, beside
 * the bare cost of starting and ending as many processes of the same program (two at a time) and of the payload. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <uv.h>

#include "core/base/file.h"
#include "core/base/memory.h"

enum { MANY = 10000, NOTHINGS = 1000 };

extern char **environ;

struct cost {
    double wall, cpu; /* seconds */
};

static const char *program;

static pid_t start(char *const *words)
{
    pid_t pid;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
    int code = posix_spawnp(&pid, words[0], &actions, NULL, words, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (code) {
        fprintf(stderr, "%s: %s\n", words[0], strerror(code));
        exit(1);
    }
    return pid;
}

static double seconds(struct timeval t)
{
    return (double)t.tv_sec + 1e-6 * (double)t.tv_usec;
}

static struct cost finish(pid_t pid, uint64_t begin)
{
    struct rusage use;
    int status;
    while (wait4(pid, &status, 0, &use) < 0 && errno == EINTR)
        continue;
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        fprintf(stderr, "a command failed\n");
        exit(1);
    }
    return (struct cost){1e-9 * (double)(uv_hrtime() - begin), seconds(use.ru_utime) + seconds(use.ru_stime)};
}

static struct cost run(char *const *words)
{
    uint64_t begin = uv_hrtime();
    return finish(start(words), begin);
}

/* `count` times, in two loops side by side. */
static struct cost bare(char *const *words, int count)
{
    uint64_t begin = uv_hrtime();
    pid_t loops[2];
    for (int k = 0; k < 2; k++) {
        loops[k] = fork();
        if (loops[k] == 0) {
            for (int i = 0; i < count / 2; i++)
                run(words);
            _exit(0);
        }
    }
    struct cost a = finish(loops[0], begin), b = finish(loops[1], begin);
    return (struct cost){b.wall > a.wall ? b.wall : a.wall, a.cpu + b.cpu};
}

static char *sweep(const char *folder, const char *name, int runs)
{
    char *path = memory_format("%s/%s.yaml", folder, name);
    char *text = memory_format("sweep: %s\nbase: {model.size: demo, data.size: 20000}\n"
                               "grid: {seed: {range: [0, %d]}}\n",
                               name, runs - 1);
    if (file_write_all(path, text, strlen(text), NULL))
        exit(1);
    free(text);
    return path;
}

int main(void)
{
    char folder[] = "/tmp/taper-bench.XXXXXX";
    if (!mkdtemp(folder))
        return 1;
    program = getenv("TAPER") ? getenv("TAPER") : "./taper";
    char *home = file_join(folder, "home"), *many = sweep(folder, "many", MANY),
         *none = sweep(folder, "none", NOTHINGS);
    setenv("TAPER_HOME", home, 1);
    setenv("OMP_NUM_THREADS", "1", 1);
    char *submit[] = {(char *)program, "submit", many, NULL}, *show[] = {(char *)program, "status", NULL};
    struct cost c = run(submit);
    printf("submit %d runs                   %8.1f ms\n", MANY, 1e3 * c.wall);
    c = run(show);
    printf("status of %d runs                %8.1f ms\n", MANY, 1e3 * c.wall);
    char *fresh = file_join(folder, "fresh");
    setenv("TAPER_HOME", fresh, 1);
    char *nothing[] = {(char *)program, "run", "--slots", "cpu:2", "--payload", "true", none, NULL};
    char *version[] = {(char *)program, "version", NULL}, *payload[] = {"true", NULL};
    struct cost base = bare(version, NOTHINGS), base2 = bare(payload, NOTHINGS);
    c = run(nothing);
    printf("%d runs of nothing, two slots     %8.3f ms wall, %.3f ms CPU each\n", NOTHINGS, 1e3 * c.wall / NOTHINGS,
           1e3 * c.cpu / NOTHINGS);
    printf("  bare processes, two at a time    %8.3f ms wall, %.3f ms CPU each\n",
           1e3 * (base.wall + base2.wall) / NOTHINGS, 1e3 * (base.cpu + base2.cpu) / NOTHINGS);
    printf("  overhead                         %8.3f ms wall, %.3f ms CPU each (wanted: 3 ms)\n",
           1e3 * (c.wall - base.wall - base2.wall) / NOTHINGS, 1e3 * (c.cpu - base.cpu - base2.cpu) / NOTHINGS);
    char *command = memory_format("rm -rf '%s'", folder);
    int code = system(command);
    free(command);
    free(home);
    free(fresh);
    free(many);
    free(none);
    return code != 0;
}
