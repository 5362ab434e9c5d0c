#include "core/data/novels.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <glob.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/base/memory.h"
#include "core/data/rdata.h"
#include "core/data/text.h"

extern char **environ;

/* ---- the text ---- */

static int heading(const char *line, size_t length)
{
    return length > 8 && strncasecmp(line, "chapter ", 8) == 0;
}

/* A separator before each chapter and each novel; a novel's title, and its volumes', go with the chapter before or
 * after them as they stand. */
static int write_line(void *arg, size_t novel, size_t index, const char *line, size_t length, struct error *err)
{
    struct file_writer *w = arg;
    if ((index == 0 && novel > 0) || (index > 0 && heading(line, length)))
        fputs(TEXT_SEPARATOR "\n", w->stream);
    fwrite(line, 1, length, w->stream);
    fputc('\n', w->stream);
    return ferror(w->stream) ? error_set(err, STATUS_FAILED, "%s: cannot write", w->path) : STATUS_OK;
}

int novels_write(const char *rdb, const char *to, struct error *err)
{
    struct file_map map;
    struct file_writer w;
    int status = file_map_open(&map, rdb, err);
    if (status)
        return status;
    status = file_create(&w, to, err);
    if (!status) {
        status = rdata_read_strings(map.data, map.size, rdb, write_line, &w, err);
        if (status)
            file_abandon(&w);
        else
            status = file_commit(&w, err);
    }
    file_map_close(&map);
    return status;
}

/* ---- the package ---- */

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *place)
{
    (void)st;
    (void)type;
    (void)place;
    return remove(path);
}

/* The last line that a program wrote, without its end; on the heap. */
static char *last_words(const char *log)
{
    struct file_map map = {0};
    char *words = NULL;
    if (file_map_open(&map, log, NULL) == STATUS_OK) {
        const char *text = (const char *)map.data;
        size_t end = map.size;
        while (end > 0 && text[end - 1] == '\n')
            end--;
        size_t begin = end;
        while (begin > 0 && text[begin - 1] != '\n')
            begin--;
        words = memory_format("%.*s", (int)(end - begin < 400 ? end - begin : 400), text + begin);
    }
    file_map_close(&map);
    return words ? words : memory_string("it said nothing");
}

/* Run a program in a directory; what it prints goes to said.log there. */
static int run(char *const argv[], const char *directory, struct error *err)
{
    pid_t pid;
    int result = 0;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addchdir_np(&actions, directory);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 1, "said.log", O_WRONLY | O_CREAT | O_TRUNC, 0666);
    posix_spawn_file_actions_adddup2(&actions, 1, 2);
    int code = posix_spawnp(&pid, argv[0], &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (code == ENOENT)
        return error_set(err, STATUS_FAILED,
                         "novels: this machine has no %s (not found in PATH), which brings them from Debian's "
                         "package " NOVELS_PACKAGE "; give a text of your own as data.corpus, or with --url a place "
                         "that has novels.txt",
                         argv[0]);
    if (code)
        return error_errno(err, STATUS_FAILED, code, "novels: cannot start %s", argv[0]);
    while (waitpid(pid, &result, 0) < 0 && errno == EINTR)
        ;
    if (WIFEXITED(result) && WEXITSTATUS(result) == 0)
        return STATUS_OK;
    char *log = file_join(directory, "said.log"), *words = last_words(log);
    int status = error_set(err, STATUS_FAILED, "novels: %s of " NOVELS_PACKAGE " failed: %s", argv[0], words);
    free(words);
    free(log);
    return status;
}

/* The one file of a pattern, on the heap. */
static int find_file(const char *directory, const char *name, char **path, struct error *err)
{
    glob_t found;
    char *pattern = file_join(directory, name);
    int status = STATUS_OK;
    *path = NULL;
    if (glob(pattern, GLOB_NOSORT, NULL, &found) == 0 && found.gl_pathc == 1)
        *path = memory_string(found.gl_pathv[0]);
    else
        status = error_set(err, STATUS_BAD_INPUT, "novels: " NOVELS_PACKAGE " is not as it was: no %s", name);
    globfree(&found);
    free(pattern);
    return status;
}

static int unpack(const char *directory, const char *to, struct error *err)
{
    char *package = NULL, *rdb = NULL;
    char *download[] = {"apt-get", "-q", "download", NOVELS_PACKAGE, NULL};
    int status = run(download, directory, err);
    if (!status)
        status = find_file(directory, NOVELS_PACKAGE "_*.deb", &package, err);
    if (!status) {
        char *extract[] = {"dpkg-deb", "--extract", package, "unpacked", NULL};
        status = run(extract, directory, err);
    }
    if (!status)
        status = find_file(directory, "unpacked/usr/lib/R/site-library/janeaustenr/data/Rdata.rdb", &rdb, err);
    if (!status)
        status = novels_write(rdb, to, err);
    free(rdb);
    free(package);
    return status;
}

int novels_receive(struct fetch_download *d, struct error *err)
{
    char *directory = memory_format("%s.apt", d->part), *text = file_join(directory, "novels.txt");
    struct file_map map = {0};
    if (d->progress && d->progress->report)
        d->progress->report(d->progress->arg, "downloading " NOVELS_PACKAGE, 0, 0);
    nftw(directory, remove_entry, 16, FTW_DEPTH | FTW_PHYS); /* of one that was killed */
    int status = file_make_directories(directory, err);
    if (!status)
        status = unpack(directory, text, err);
    if (!status)
        status = file_map_open(&map, text, err);
    /* Into the part itself, which is locked and has to stay the same file. */
    if (!status && (ftruncate(d->lock, 0) != 0 || pwrite(d->lock, map.data, map.size, 0) != (ssize_t)map.size))
        status = error_errno(err, STATUS_FAILED, errno, "%s: cannot write", d->part);
    file_map_close(&map);
    nftw(directory, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    free(text);
    free(directory);
    return status;
}
