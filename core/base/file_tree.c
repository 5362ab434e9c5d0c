#include "core/base/file_tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct walk {
    const char *path; /* as asked for, for errors */
    bool remove;
    int64_t bytes;
    struct error *err;
};

static int refuse(struct walk *w, const char *name)
{
    return error_errno(w->err, STATUS_FAILED, errno, "%s: cannot remove %s", w->path, name);
}

static int visit(struct walk *w, int at, const char *name);

static int visit_entries(struct walk *w, int at, const char *name)
{
    int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), status = STATUS_OK;
    DIR *entries = fd < 0 ? NULL : fdopendir(fd);
    if (!entries) {
        status = w->remove ? refuse(w, name) : STATUS_OK;
        if (fd >= 0)
            close(fd);
        return status;
    }
    for (struct dirent *entry; !status && (entry = readdir(entries));)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            status = visit(w, fd, entry->d_name);
    closedir(entries);
    return status;
}

static int visit(struct walk *w, int at, const char *name)
{
    struct stat st;
    if (fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
        return errno == ENOENT || !w->remove ? STATUS_OK : refuse(w, name);
    bool directory = S_ISDIR(st.st_mode);
    int status = directory ? visit_entries(w, at, name) : STATUS_OK;
    if (!status && w->remove && unlinkat(at, name, directory ? AT_REMOVEDIR : 0) != 0 && errno != ENOENT)
        status = refuse(w, name);
    if (!status && !directory)
        w->bytes += 512 * (int64_t)st.st_blocks;
    return status;
}

void file_tree_size(const char *path, int64_t *bytes)
{
    struct walk w = {.path = path};
    visit(&w, AT_FDCWD, path);
    *bytes += w.bytes;
}

int file_tree_remove(const char *path, int64_t *bytes, struct error *err)
{
    struct walk w = {.path = path, .remove = true, .err = err};
    int status = visit(&w, AT_FDCWD, path);
    if (bytes)
        *bytes += w.bytes;
    return status;
}
