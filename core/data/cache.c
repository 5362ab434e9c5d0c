#include "core/data/cache.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/base/memory.h"

static const char *variable(const char *name)
{
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

int cache_directory(char **out, struct error *err)
{
    const char *cache = variable("TAPER_CACHE"), *xdg = variable("XDG_CACHE_HOME"), *home = variable("HOME");
    if (cache)
        *out = memory_string(cache);
    else if (xdg)
        *out = memory_format("%s/taper", xdg);
    else if (home)
        *out = memory_format("%s/.cache/taper", home);
    else
        return error_set(err, STATUS_BAD_INPUT, "no cache directory: set TAPER_CACHE (HOME is not set)");
    return STATUS_OK;
}

int cache_path(const char *name, char **out, struct error *err)
{
    char *directory = NULL;
    int status = cache_directory(&directory, err);
    if (status)
        return status;
    status = file_make_directories(directory, err);
    *out = status ? NULL : file_join(directory, name);
    free(directory);
    return status;
}

/* Waits until the lock is ours; the kernel releases it when we end, however we end. */
static int lock_entry(const char *path, int *fd, struct error *err)
{
    *fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (*fd < 0)
        return error_errno(err, STATUS_FAILED, errno, "%s: cannot open", path);
    while (flock(*fd, LOCK_EX) != 0)
        if (errno != EINTR) {
            int status = error_errno(err, STATUS_FAILED, errno, "%s: cannot lock", path);
            close(*fd);
            return status;
        }
    return STATUS_OK;
}

int cache_entry(const char *name, int (*make)(void *arg, const char *path, struct error *err), void *arg, char **out,
                struct error *err)
{
    int fd, status = cache_path(name, out, err);
    if (status || access(*out, R_OK) == 0)
        return status;
    char *lock = memory_format("%s.lock", *out);
    status = lock_entry(lock, &fd, err);
    if (!status) {
        if (access(*out, R_OK) != 0) /* somebody may have made it while we waited */
            status = make(arg, *out, err);
        unlink(lock); /* whoever waits on the unlinked file finds the entry made, or makes it again: harmless */
        close(fd);
    }
    free(lock);
    if (status) {
        free(*out);
        *out = NULL;
    }
    return status;
}
