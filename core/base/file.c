#include "core/base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sodium.h>

#include "core/base/memory.h"

/* Between a path and the six digits of the file beside it that is to replace it. */
#define WRITING ".writing-"
#define KEEP    ".keep" /* behind that: a second link to the file before */

enum { NAMES_TRIED = 1000 };

static void release(struct file_writer *w)
{
    free(w->path);
    free(w->temporary);
    free(w->keep);
    *w = (struct file_writer){0};
}

/* A new file beside the path. Not by mkostemp, whose files are 0600: the umask, which says what they should be, can
 * only be read by setting it, and that is every thread's. */
static int create_beside(struct file_writer *w)
{
    int fd = -1;
    for (int i = 0; fd < 0 && i < NAMES_TRIED; i++) {
        free(w->temporary);
        w->temporary = memory_format("%s" WRITING "%06x", w->path, randombytes_random() & 0xffffff);
        fd = open(w->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd < 0 && errno != EEXIST)
            break;
    }
    return fd;
}

/* What is there and is no file (a terminal, /dev/null, a pipe) is written to: a rename would put a file in its place.
 */
static int open_output(struct file_writer *w)
{
    struct stat st;
    if (stat(w->path, &st) == 0 && !S_ISREG(st.st_mode)) {
        errno = EISDIR;
        return S_ISDIR(st.st_mode) ? -1 : open(w->path, O_WRONLY | O_CLOEXEC);
    }
    return create_beside(w);
}

int file_create(struct file_writer *w, const char *path, struct error *err)
{
    *w = (struct file_writer){.path = memory_string(path)};
    int fd = open_output(w);
    w->stream = fd < 0 ? NULL : fdopen(fd, "w");
    if (w->stream)
        return STATUS_OK;
    int status = error_errno(err, errno == EISDIR ? STATUS_BAD_INPUT : STATUS_FAILED, errno, "%s: cannot create", path);
    if (fd >= 0) {
        close(fd);
        if (w->temporary)
            unlink(w->temporary);
    }
    release(w);
    return status;
}

/* The rename is on the disk only once its directory is. */
static int sync_directory(const char *path)
{
    char *copy = memory_string(path);
    int fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    free(copy);
    if (fd < 0)
        return -1;
    int result = fsync(fd);
    close(fd);
    return result;
}

void file_sync(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    fsync(fd);
    close(fd);
    sync_directory(path);
}

/* A stream remembers that a write failed, and not why. The file is given up, so that it can be asked again. */
static int why_it_failed(const struct file_writer *w)
{
    static const char block[4096];
    int fd = fileno(w->stream);
    clearerr(w->stream);
    if (fflush(w->stream) != 0)
        return errno;
    if (w->temporary && lseek(fd, 0, SEEK_END) >= 0)
        for (int i = 0; i < 2; i++) /* the first may still find part of a block */
            if (write(fd, block, sizeof block) < 0)
                return errno;
    return EIO;
}

/* Give the file that is to be replaced its second name, so that at no moment there is neither: by a link, or where the
 * file system has none by a rename. */
static int keep_old(const struct file_writer *w)
{
    char *beside = memory_format("%s" KEEP, w->temporary);
    int result = 0;
    if (link(w->path, beside) == 0) {
        result = rename(beside, w->keep);
        unlink(beside); /* rename leaves it where both were one file before */
    } else if (errno != ENOENT) {
        result = rename(w->path, w->keep);
    }
    free(beside);
    return result;
}

int file_commit(struct file_writer *w, struct error *err)
{
    int status = STATUS_OK, failed = ferror(w->stream);
    errno = failed ? why_it_failed(w) : 0;
    if (failed || fflush(w->stream) != 0 || (w->temporary && fsync(fileno(w->stream)) != 0))
        status = error_errno(err, STATUS_FAILED, errno, "%s: cannot write", w->path);
    if (fclose(w->stream) != 0 && !status)
        status = error_errno(err, STATUS_FAILED, errno, "%s: cannot write", w->path);
    if (!status && w->temporary && w->keep && keep_old(w) != 0)
        status = error_errno(err, STATUS_FAILED, errno, "%s: cannot be kept as %s", w->path, w->keep);
    if (!status && w->temporary && rename(w->temporary, w->path) != 0)
        status = error_errno(err, STATUS_FAILED, errno, "%s: cannot replace", w->path);
    if (w->temporary && status)
        unlink(w->temporary);
    else if (w->temporary)
        sync_directory(w->path); /* some file systems refuse; the file itself is safe */
    release(w);
    return status;
}

void file_abandon(struct file_writer *w)
{
    if (!w->stream)
        return;
    fclose(w->stream);
    if (w->temporary)
        unlink(w->temporary);
    release(w);
}

int file_write_all(const char *path, const void *bytes, size_t size, struct error *err)
{
    struct file_writer w;
    int status = file_create(&w, path, err);
    if (status)
        return status;
    fwrite(bytes, 1, size, w.stream);
    return file_commit(&w, err);
}

int file_replace(const char *path, const void *bytes, size_t size, struct error *err)
{
    char *aside = memory_format("%s.new", path);
    FILE *out = fopen(aside, "we");
    bool bad = !out || fwrite(bytes, 1, size, out) != size;
    bad |= out && fclose(out) != 0;
    bad = bad || rename(aside, path) != 0;
    int status = bad ? error_errno(err, STATUS_FAILED, errno, "%s: cannot write", path) : STATUS_OK;
    if (bad)
        unlink(aside);
    free(aside);
    return status;
}

/* What follows WRITING: six digits, and maybe KEEP. */
static bool is_leftover(const char *tail)
{
    size_t length = strlen(tail);
    return length == 6 || (length == 6 + strlen(KEEP) && strcmp(tail + 6, KEEP) == 0);
}

void file_remove_leftovers(const char *directory, const char *name)
{
    DIR *dir = opendir(directory);
    char *prefix = memory_format("%s" WRITING, name);
    size_t length = strlen(prefix);
    for (struct dirent *entry; dir && (entry = readdir(dir));)
        if (strncmp(entry->d_name, prefix, length) == 0 && is_leftover(entry->d_name + length))
            unlinkat(dirfd(dir), entry->d_name, 0);
    if (dir)
        closedir(dir);
    free(prefix);
}

static const char *kind_name(mode_t mode)
{
    return S_ISFIFO(mode) ? "a FIFO" : S_ISCHR(mode) || S_ISBLK(mode) ? "a device" : "something else";
}

int file_map_open(struct file_map *m, const char *path, struct error *err)
{
    *m = (struct file_map){(const unsigned char *)"", 0};
    /* A FIFO that nobody writes to would hold who opens it for ever, and a terminal would become ours. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat st;
    int status = STATUS_OK;
    if (fd < 0 && errno == ENXIO)
        status = error_set(err, STATUS_BAD_INPUT, "%s: want a regular file, got a socket or a device", path);
    else if (fd < 0 || fstat(fd, &st) != 0)
        status = error_errno(err, STATUS_BAD_INPUT, errno, "%s", path);
    else if (S_ISDIR(st.st_mode))
        status = error_errno(err, STATUS_BAD_INPUT, EISDIR, "%s", path);
    else if (!S_ISREG(st.st_mode))
        status = error_set(err, STATUS_BAD_INPUT, "%s: want a regular file, got %s", path, kind_name(st.st_mode));
    else if (st.st_size > 0) {
        void *data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (data == MAP_FAILED)
            status = error_errno(err, STATUS_FAILED, errno, "%s: cannot map", path);
        else
            *m = (struct file_map){data, (size_t)st.st_size};
    }
    if (fd >= 0)
        close(fd);
    return status;
}

void file_map_close(struct file_map *m)
{
    if (m->size)
        munmap((void *)m->data, m->size);
    *m = (struct file_map){0};
}

int file_make_directories(const char *path, struct error *err)
{
    if (!*path)
        return error_set(err, STATUS_BAD_INPUT, "want a directory, got an empty name");
    char *copy = memory_string(path);
    int status = STATUS_OK;
    for (char *at = copy + 1; !status; at++) {
        if (*at != '/' && *at != '\0')
            continue;
        char kept = *at;
        *at = '\0';
        if (mkdir(copy, 0777) != 0 && errno != EEXIST)
            status = error_errno(err, STATUS_FAILED, errno, "%s: cannot make the directory", copy);
        *at = kept;
        if (kept == '\0')
            break;
    }
    free(copy);
    struct stat st;
    if (!status && (stat(path, &st) != 0 || !S_ISDIR(st.st_mode)))
        status = error_set(err, STATUS_BAD_INPUT, "%s: not a directory", path);
    return status;
}

char *file_join(const char *directory, const char *name)
{
    size_t length = strlen(directory);
    return memory_format("%s%s%s", directory, length && directory[length - 1] == '/' ? "" : "/", name);
}
