#include "harness/base/home.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/base/file.h"
#include "core/base/memory.h"

static bool is_directory(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* On the heap. What XDG_DATA_HOME says counts only when it is absolute. */
static char *default_home(void)
{
    const char *data = getenv("XDG_DATA_HOME"), *user = getenv("HOME");
    if (is_directory("results/home"))
        return memory_string("results/home");
    if (data && data[0] == '/')
        return file_join(data, "taper");
    return user && user[0] == '/' ? file_join(user, ".local/share/taper") : memory_string("results/home");
}

static void name_parts(struct home *home)
{
    if (!home->database)
        home->database = file_join(home->dir, "taper.db");
    home->lock = file_join(home->dir, "taper.lock");
    home->socket = file_join(home->dir, "taper.sock");
    home->log = file_join(home->dir, "daemon.log");
    home->pid = file_join(home->dir, "daemon.pid");
    home->runs = file_join(home->dir, "runs");
    home->sweeps = file_join(home->dir, "sweeps");
}

/* path: absolute, and the home's from here on. */
static void take_file(struct home *home, char *path)
{
    const char *slash = strrchr(path, '/');
    home->alone = true;
    home->database = path;
    home->dir = slash == path ? memory_string("/") : memory_format("%.*s", (int)(slash - path), path);
    name_parts(home);
}

enum purpose { CREATE, USE, READ };

static int find(struct home *home, const char *dir, const char *source, enum purpose purpose, struct error *err)
{
    struct stat st;
    if (purpose == CREATE && stat(dir, &st) != 0) {
        home->made = true;
        int status = file_make_directories(dir, err);
        if (status) {
            error_wrap(err, "home");
            return status;
        }
    }
    if (stat(dir, &st) != 0)
        return error_errno(err, STATUS_BAD_INPUT, errno, "no home at %s (%s)", dir, source);
    bool file = S_ISREG(st.st_mode) && purpose == READ;
    if (!file && !S_ISDIR(st.st_mode))
        return error_set(err, STATUS_BAD_INPUT, "home %s is not a directory (%s)%s", dir, source,
                         S_ISREG(st.st_mode) ? "; a database file is for what only reads" : "");
    char *path = realpath(dir, NULL);
    if (!path)
        return error_errno(err, STATUS_FAILED, errno, "home %s", dir);
    if (file) {
        take_file(home, path);
        return STATUS_OK;
    }
    home->dir = path;
    name_parts(home);
    int status = purpose == CREATE ? file_make_directories(home->runs, err) : STATUS_OK;
    if (status)
        home_fini(home);
    return status;
}

static int init(struct home *home, const char *given, enum purpose purpose, struct error *err)
{
    *home = (struct home){0};
    const char *named = given ? given : getenv("TAPER_HOME");
    if (given && !*given)
        return error_set(err, STATUS_BAD_INPUT, "--home: want a directory, got ''");
    if (named && *named)
        return find(home, named, given ? "--home" : "TAPER_HOME", purpose, err);
    char *dir = default_home();
    int status = find(home, dir, "the default home; --home or TAPER_HOME name another", purpose, err);
    free(dir);
    return status;
}

int home_init(struct home *home, const char *given, bool create, struct error *err)
{
    return init(home, given, create ? CREATE : USE, err);
}

int home_init_reader(struct home *home, const char *given, struct error *err)
{
    return init(home, given, READ, err);
}

void home_announce(const struct home *home)
{
    if (home->made)
        fprintf(stderr, "new home: %s\n", home->dir);
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
