#include "harness/base/home.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/base/file.h"
#include "core/base/memory.h"

int home_init(struct home *home, const char *given, bool create, struct error *err)
{
    *home = (struct home){0};
    const char *dir = given ? given : getenv("TAPER_HOME");
    const char *source = given ? "--home" : "TAPER_HOME";
    if (given && !*given)
        return error_set(err, STATUS_BAD_INPUT, "--home: want a directory, got ''");
    if (!dir || !*dir) {
        dir = "results/home";
        source = "the default home; --home or TAPER_HOME name another";
    }
    if (create) {
        int status = file_make_directories(dir, err);
        if (status) {
            error_wrap(err, "home");
            return status;
        }
    }
    struct stat st;
    if (stat(dir, &st) != 0)
        return error_errno(err, STATUS_BAD_INPUT, errno, "no home at %s (%s)", dir, source);
    if (!S_ISDIR(st.st_mode))
        return error_set(err, STATUS_BAD_INPUT, "home %s is not a directory (%s)", dir, source);
    home->dir = realpath(dir, NULL);
    if (!home->dir)
        return error_errno(err, STATUS_FAILED, errno, "home %s", dir);
    home->database = file_join(home->dir, "taper.db");
    home->lock = file_join(home->dir, "taper.lock");
    home->socket = file_join(home->dir, "taper.sock");
    home->log = file_join(home->dir, "daemon.log");
    home->pid = file_join(home->dir, "daemon.pid");
    home->runs = file_join(home->dir, "runs");
    home->sweeps = file_join(home->dir, "sweeps");
    int status = create ? file_make_directories(home->runs, err) : STATUS_OK;
    if (status)
        home_fini(home);
    return status;
}

void home_fini(struct home *home)
{
    free(home->dir);
    free(home->database);
    free(home->lock);
    free(home->socket);
    free(home->log);
    free(home->pid);
    free(home->runs);
    free(home->sweeps);
    *home = (struct home){0};
}

char *home_run_dir(const struct home *home, const char *run)
{
    return file_join(home->runs, run);
}

char *home_run_file(const struct home *home, const char *run, const char *name)
{
    return memory_format("%s/%s/%s", home->runs, run, name);
}
