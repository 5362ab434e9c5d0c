#include "core/data/cache.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/digest.h"
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

/* Is the entry there, and what was written? A directory is checked by who reads it. */
static bool entry_is_good(const char *path, const char *sum)
{
    struct stat st;
    struct file_map map = {0};
    char found[DIGEST_TEXT];
    if (access(path, R_OK) != 0 || stat(path, &st) != 0)
        return false;
    if (S_ISDIR(st.st_mode))
        return true;
    bool good = digest_file(path, found, NULL) == STATUS_OK && file_map_open(&map, sum, NULL) == STATUS_OK &&
                map.size == strlen(found) && memcmp(map.data, found, map.size) == 0;
    file_map_close(&map);
    return good;
}

/* Under the lock. */
static int make_entry(int (*make)(void *arg, const char *path, struct error *err), void *arg, const char *path,
                      const char *sum, struct error *err)
{
    struct stat st;
    char found[DIGEST_TEXT];
    if (access(path, F_OK) == 0 && access(sum, F_OK) == 0)
        fprintf(stderr, "taper: warning: %s: damaged: it does not match its digest; it is made again\n", path);
    int status = make(arg, path, err);
    if (status || (stat(path, &st) == 0 && S_ISDIR(st.st_mode)))
        return status;
    status = digest_file(path, found, err);
    return status ? status : file_replace(sum, found, strlen(found), err);
}

int cache_entry(const char *name, int (*make)(void *arg, const char *path, struct error *err), void *arg, char **out,
                struct error *err)
{
    int fd, status = cache_path(name, out, err);
    if (status)
        return status;
    char *sum = memory_format("%s.xxh128", *out);
    if (entry_is_good(*out, sum)) {
        free(sum);
        return STATUS_OK;
    }
    char *lock = memory_format("%s.lock", *out);
    status = lock_entry(lock, &fd, err);
    if (!status) {
        if (!entry_is_good(*out, sum)) /* somebody may have made it while we waited */
            status = make_entry(make, arg, *out, sum, err);
        unlink(lock); /* whoever waits on the unlinked file finds the entry made, or makes it again: harmless */
        close(fd);
    }
    free(lock);
    free(sum);
    if (status) {
        free(*out);
        *out = NULL;
    }
    return status;
}
