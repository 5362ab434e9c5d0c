/* What submitting and showing 10,000 runs costs. bench_queue.c: what running them does. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <uv.h>

#include "core/base/file.h"
#include "core/base/memory.h"
#include "tests/support/bench.h"

enum { MANY = 10000 };

static const char *program;

/* Seconds that a command takes. */
static double run(char *const *words)
{
    uint64_t begin = uv_hrtime();
    pid_t pid = bench_start(words);
    int status;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        fprintf(stderr, "a command failed\n");
        exit(1);
    }
    return 1e-9 * (double)(uv_hrtime() - begin);
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
    char *home = file_join(folder, "home"), *many = sweep(folder, "many", MANY);
    setenv("TAPER_HOME", home, 1);
    setenv("OMP_NUM_THREADS", "1", 1);
    char *submit[] = {(char *)program, "submit", many, NULL}, *show[] = {(char *)program, "status", NULL};
    printf("submit %d runs                   %8.1f ms\n", MANY, 1e3 * run(submit));
    printf("status of %d runs                %8.1f ms\n", MANY, 1e3 * run(show));
    char *command = memory_format("rm -rf '%s'", folder);
    int code = system(command);
    free(command);
    free(home);
    free(many);
    return code != 0;
}
