#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/memory.h"
#include "core/base/rundir.h"
#include "harness/verbs/commands.h"
#include "harness/base/options.h"
#include "harness/store/store.h"

enum { LOOK_MS = 500 };

/* Copy what is there from the descriptor on. False when standard output is gone. */
static bool copy_rest(int fd)
{
    char buffer[65536];
    ssize_t n;
    while ((n = read(fd, buffer, sizeof buffer)) > 0 || (n < 0 && errno == EINTR))
        if (n > 0 && fwrite(buffer, 1, (size_t)n, stdout) != (size_t)n)
            return false;
    return fflush(stdout) == 0;
}

/* The file was replaced when it had its full size: then a new one has its name. */
static bool was_replaced(int fd, const char *path)
{
    struct stat mine, named;
    return fstat(fd, &mine) == 0 && stat(path, &named) == 0 &&
           (mine.st_ino != named.st_ino || mine.st_dev != named.st_dev);
}

static bool is_over(const struct home *home, const char *run)
{
    struct store *store = NULL;
    struct store_run now;
    bool over = true;
    if (store_open(&store, home, STORE_READ, NULL) == STATUS_OK)
        over = store_run_find(store, run, &now, NULL) != STATUS_OK || now.state >= RUN_DONE;
    store_close(store);
    return over;
}

static int follow(const struct home *home, const char *run, const char *path, struct error *err)
{
    int events = inotify_init1(IN_NONBLOCK | IN_CLOEXEC), fd = -1, status = STATUS_OK;
    char *dir = home_run_dir(home, run);
    int watch = -1;
    for (bool last = false; !status;) {
        bool over = last;
        if (watch < 0 && events >= 0)
            watch = inotify_add_watch(events, dir, IN_MODIFY | IN_CREATE | IN_MOVED_TO);
        if (fd < 0)
            fd = open(path, O_RDONLY | O_CLOEXEC);
        bool fine = fd < 0 || copy_rest(fd);
        if (fine && fd >= 0 && was_replaced(fd, path)) {
            close(fd);
            fd = open(path, O_RDONLY | O_CLOEXEC);
            fine = fd < 0 || copy_rest(fd);
        }
        if (!fine)
            status = error_set(err, STATUS_FAILED, "cannot write to standard output");
        if (over || status)
            break;
        struct pollfd ready = {events, POLLIN, 0};
        char drop[4096];
        if (poll(&ready, watch >= 0, LOOK_MS) > 0)
            while (read(events, drop, sizeof drop) > 0)
                continue;
        else
            last = is_over(home, run); /* then once more, for what came between */
    }
    if (fd >= 0)
        close(fd);
    if (events >= 0)
        close(events);
    free(dir);
    return status;
}

static int print_whole(const char *path, bool *there, struct error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    *there = fd >= 0;
    if (fd < 0)
        return errno == ENOENT ? STATUS_OK : error_errno(err, STATUS_FAILED, errno, "%s", path);
    bool fine = copy_rest(fd);
    close(fd);
    return fine ? STATUS_OK : error_set(err, STATUS_FAILED, "cannot write to standard output");
}

static int log_exec(int argc, char **argv, struct error *err)
{
    const char *given = NULL;
    bool following = false, there = false;
    const struct option_spec specs[] = {{.name = "home", .value = &given}, {.name = "follow", .flag = &following}, {0}};
    struct home home = {0};
    struct store *store = NULL;
    struct store_run run;
    int operands, status = options_parse(&cmd_log, specs, argc, argv, &operands, err);
    if (!status && operands != 1)
        status = command_usage(&cmd_log, err, "wants one run");
    if (!status)
        status = home_init(&home, given, false, err);
    if (!status)
        status = store_open(&store, &home, STORE_READ, err);
    if (!status)
        status = store_run_find(store, argv[1], &run, err);
    store_close(store);
    if (!status) {
        char *path = home_run_file(&home, run.id, RUNDIR_LOG), *older = memory_format("%s.1", path);
        status = print_whole(older, &there, err);
        if (!status && following)
            status = follow(&home, run.id, path, err);
        else if (!status)
            status = print_whole(path, &there, err);
        if (!status && !there && !following)
            fprintf(stderr, "run %s has logged nothing yet\n", run.id);
        free(path);
        free(older);
    }
    home_fini(&home);
    return status;
}

static const struct option_row log_options[] = {
    {"follow", 'f', NULL, "go on as it grows, until the run has ended"},
    OPTION_HOME,
    {0},
};

const struct command cmd_log = {
    .name = "log",
    .operands = "RUN",
    .brief = "what a run printed",
    .about =
        "RUN is the id, as much of its beginning as no other run has, or SWEEP/VARIANT/SEED. The log keeps the last\n"
        "4 to 8 MiB.\n",
    .options = log_options,
    .exec = log_exec,
};
