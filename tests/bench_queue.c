/* What the queue costs a run: runs that do nothing through the daemon's two slots, in turns with the same program
 * through task-spooler's (`tsp`, where it is installed), and with the bare cost of starting it as often, two at a time.
 * Rounds alternate, because a machine has other things to do: medians and minima of all are shown. BENCH_ROUNDS,
 * BENCH_RUNS and BENCH_FOLDER (/tmp) to set: a file system from which much was deleted in the last minutes makes new
 * files slowly. */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <uv.h>

#include "core/base/file.h"
#include "core/base/memory.h"
#include "tests/support/bench.h"

enum { ROUNDS = 7, ROUNDS_MOST = 100, RUNS = 1000 };

enum subject { BARE, TSP, TAPER, SUBJECTS };

static const char *const subject_names[] = {"bare processes", "task-spooler", "taper"};

/* Of one round, milliseconds a run. server: what the daemon, or task-spooler's server, used itself. */
struct cost {
    double wall, cpu, server;
};

static const char *program, *folder;
static int runs;

static void fail(const char *what)
{
    fprintf(stderr, "bench_queue: %s: %s\n", what, strerror(errno));
    exit(1);
}

static int finish(pid_t pid)
{
    int status;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            fail("wait");
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void run(char *const *words)
{
    errno = 0;
    if (finish(bench_start(words)) != 0)
        fail(words[0]);
}

static double milliseconds(struct timeval t)
{
    return 1e3 * (double)t.tv_sec + 1e-3 * (double)t.tv_usec;
}

/* Of all that came from this process and is gone: orphans are ours to reap, so that nothing is missing. */
static double children_cpu(void)
{
    struct rusage use;
    getrusage(RUSAGE_CHILDREN, &use);
    return milliseconds(use.ru_utime) + milliseconds(use.ru_stime);
}

/* Of one process so far, without its children. */
static double own_cpu(pid_t pid)
{
    char *path = memory_format("/proc/%d/schedstat", (int)pid);
    unsigned long long nanoseconds = 0;
    FILE *in = fopen(path, "re");
    if (!in || fscanf(in, "%llu", &nanoseconds) != 1)
        fail(path);
    fclose(in);
    free(path);
    return 1e-6 * (double)nanoseconds;
}

/* ----------------------------------------------------------------------------------------- two at a time, by hand */

static double bare_round(void)
{
    char *payload[] = {"true", "1", NULL};
    pid_t loops[2];
    for (int k = 0; k < 2; k++) {
        loops[k] = fork();
        if (loops[k] == 0) {
            for (int i = 0; i < runs / 2; i++)
                run(payload);
            _exit(0);
        }
    }
    for (int k = 0; k < 2; k++)
        finish(loops[k]);
    return 0;
}

/* ----------------------------------------------------------------------------------------- task-spooler */

/* What a command of it prints: a job's number, or the server's process behind its socket. */
static int tsp_number(char *const *words)
{
    char text[64] = "", *path = file_join(folder, "number");
    pid_t pid;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 1, path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    errno = posix_spawnp(&pid, words[0], &actions, NULL, words, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (errno || finish(pid) != 0)
        fail(words[0]);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || read(fd, text, sizeof text - 1) < 1)
        fail(path);
    close(fd);
    free(path);
    return (int)strtol(text, NULL, 10);
}

/* The orphan among our children that is a leader of its own session and no client: the one that was there first. */
static pid_t tsp_server(void)
{
    char *path = memory_format("/proc/self/task/%d/children", (int)getpid());
    int pid = 0;
    FILE *in = fopen(path, "re");
    if (!in || fscanf(in, "%d", &pid) != 1)
        fail(path);
    fclose(in);
    free(path);
    return pid;
}

/* Reap the orphans that have ended. */
static void reap(void)
{
    while (waitpid(-1, NULL, WNOHANG) > 0)
        continue;
}

static double tsp_round(void)
{
    char *slots[] = {"tsp", "-S", "2", NULL}, *quit[] = {"tsp", "-K", NULL};
    char *add[] = {"tsp", "true", "1", NULL};
    int last = 0;
    run(slots); /* starts the server */
    pid_t server = tsp_server();
    for (int i = 0; i < runs; i++) {
        last = tsp_number(add);
        reap();
    }
    for (int i = last - 1; i <= last; i++) { /* two at a time, in their order: these two end last */
        char *number = memory_format("%d", i), *wait[] = {"tsp", "-w", number, NULL};
        run(wait);
        free(number);
    }
    double own = own_cpu(server);
    run(quit);
    finish(server);
    while (waitpid(-1, NULL, 0) > 0)
        continue;
    return own;
}

/* ----------------------------------------------------------------------------------------- taper */

static char *write_sweep(void)
{
    char *path = file_join(folder, "none.yaml");
    char *text = memory_format("sweep: none\nbase: {model.size: demo, data.size: 20000}\n"
                               "grid: {seed: {range: [0, %d]}}\n",
                               runs - 1);
    if (file_write_all(path, text, strlen(text), NULL))
        fail(path);
    free(text);
    return path;
}

static double taper_round(void)
{
    static int round;
    char *home = memory_format("%s/home%d", folder, round++), *sweep = write_sweep();
    char *serve[] = {(char *)program, "daemon", "--slots", "cpu:2", "--payload", "true", "--home", home, NULL};
    char *submit[] = {(char *)program, "submit", "--home", home, sweep, NULL};
    char *wait[] = {(char *)program, "wait", "--home", home, "none", NULL};
    char *stop[] = {(char *)program, "daemon", "--stop", "--home", home, NULL};
    char *socket = file_join(home, "taper.sock");
    pid_t daemon = bench_start(serve);
    for (int i = 0; access(socket, F_OK) != 0 && i < 1000; i++)
        usleep(5000);
    run(submit);
    run(wait);
    double own = own_cpu(daemon);
    run(stop);
    finish(daemon);
    free(home);
    free(sweep);
    free(socket);
    return own;
}

/* ----------------------------------------------------------------------------------------- rounds */

static int by_size(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static void show(const char *what, double *values, int count)
{
    qsort(values, (size_t)count, sizeof *values, by_size);
    printf("  %s %6.3f (%6.3f)", what, values[count / 2], values[0]);
}

static void show_subject(enum subject subject, const struct cost *costs, int count)
{
    double wall[ROUNDS_MOST], cpu[ROUNDS_MOST], server[ROUNDS_MOST];
    for (int i = 0; i < count; i++) {
        wall[i] = costs[i].wall;
        cpu[i] = costs[i].cpu;
        server[i] = costs[i].server;
    }
    printf("  %-16s", subject_names[subject]);
    show("wall", wall, count);
    show("processors", cpu, count);
    if (subject != BARE)
        show("server", server, count);
    printf("\n");
}

static bool have_tsp(void)
{
    return system("command -v tsp >/dev/null 2>&1") == 0;
}

static int number_of(const char *name, int otherwise, int most)
{
    const char *text = getenv(name);
    int n = text ? (int)strtol(text, NULL, 10) : otherwise;
    return n < 2 ? 2 : n > most ? most : n;
}

int main(void)
{
    static double (*const round_of[])(void) = {bare_round, tsp_round, taper_round};
    static struct cost costs[SUBJECTS][ROUNDS_MOST];
    const char *parent = getenv("BENCH_FOLDER");
    char *name = file_join(parent ? parent : "/tmp", "taper-bench.XXXXXX");
    int rounds = number_of("BENCH_ROUNDS", ROUNDS, ROUNDS_MOST);
    bool tsp = have_tsp();
    if (!mkdtemp(name))
        fail(name);
    folder = name;
    runs = number_of("BENCH_RUNS", RUNS, 100000);
    program = getenv("TAPER") ? getenv("TAPER") : "./taper";
    char *socket = file_join(folder, "tsp.sock");
    setenv("TS_SOCKET", socket, 1);
    setenv("TMPDIR", folder, 1);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    for (int i = 0; i < rounds; i++)
        for (int s = 0; s < SUBJECTS; s++) {
            if (s == TSP && !tsp)
                continue;
            double cpu = children_cpu();
            uint64_t begin = uv_hrtime();
            double server = round_of[s]();
            costs[s][i] = (struct cost){1e-6 * (double)(uv_hrtime() - begin) / runs, (children_cpu() - cpu) / runs,
                                        server / runs};
        }
    printf("%d runs of `true`, two at a time, ms a run: median (least) of %d rounds in turns\n", runs, rounds);
    for (int s = 0; s < SUBJECTS; s++)
        if (s != TSP || tsp)
            show_subject(s, costs[s], rounds);
    if (!tsp)
        printf("  tsp is not installed\n");
    char *command = memory_format("rm -rf '%s'", folder);
    int code = system(command);
    free(command);
    free(socket);
    free(name);
    return code != 0;
}
