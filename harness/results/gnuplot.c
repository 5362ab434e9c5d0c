#include "harness/results/gnuplot.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/memory.h"

enum { NOT_FOUND = 127 };

/* A file in memory takes any amount without a reader, so no pipe can fill up. */
static int memory_file(const char *name, struct error *err)
{
    int fd = memfd_create(name, MFD_CLOEXEC);
    if (fd < 0)
        error_errno(err, STATUS_FAILED, errno, "memory for gnuplot");
    return fd;
}

static int write_script(int fd, const char *script, size_t size, struct error *err)
{
    for (size_t done = 0; done < size;) {
        ssize_t n = write(fd, script + done, size - done);
        if (n < 0 && errno != EINTR)
            return error_errno(err, STATUS_FAILED, errno, "memory for gnuplot");
        done += n > 0 ? (size_t)n : 0;
    }
    if (lseek(fd, 0, SEEK_SET) != 0)
        return error_errno(err, STATUS_FAILED, errno, "memory for gnuplot");
    return STATUS_OK;
}

/* What was written to the file; NUL-terminated, on the heap. */
static char *read_back(int fd, size_t *size)
{
    off_t end = lseek(fd, 0, SEEK_END);
    char *bytes = memory_alloc((size_t)(end > 0 ? end : 0) + 1, 1);
    *size = 0;
    while (end > 0 && *size < (size_t)end) {
        ssize_t n = pread(fd, bytes + *size, (size_t)end - *size, (off_t)*size);
        if (n <= 0 && errno != EINTR)
            break;
        *size += n > 0 ? (size_t)n : 0;
    }
    return bytes;
}

static int run(int in, int out, int complaints, int *code, struct error *err)
{
    pid_t pid = fork();
    if (pid < 0)
        return error_errno(err, STATUS_FAILED, errno, "start gnuplot");
    if (pid == 0) {
        if (dup2(in, 0) == 0 && dup2(out, 1) == 1 && dup2(complaints, 2) == 2)
            execlp("gnuplot", "gnuplot", "-d", "-", (char *)NULL);
        _exit(errno == ENOENT || errno == EACCES ? NOT_FOUND : 126);
    }
    int status;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return error_errno(err, STATUS_FAILED, errno, "wait for gnuplot");
    if (WIFSIGNALED(status))
        return error_set(err, STATUS_FAILED, "gnuplot: killed by signal %d", WTERMSIG(status));
    *code = WEXITSTATUS(status);
    return STATUS_OK;
}

/* The message stands at the end, behind an echo of the script's lines, which may be long. */
static const char *message_of(const char *said)
{
    const char *at = NULL, *next = said;
    while ((next = strstr(next, " line "))) {
        at = next;
        next++;
    }
    return at ? at + 1 : said;
}

static int not_found(struct error *err)
{
    return error_set(err, STATUS_FAILED,
                     "gnuplot: not found on the PATH; install it (Debian: apt-get install gnuplot-nox), "
                     "or take the script with --format gp");
}

static int judge(const struct gnuplot_output *out, int code, struct error *err)
{
    if (code == NOT_FOUND)
        return not_found(err);
    if (code != 0)
        return error_set(err, STATUS_FAILED, "gnuplot: exit status %d: %.1500s", code, message_of(out->said));
    if (out->size == 0)
        return error_set(err, STATUS_FAILED, "gnuplot: drew nothing: %.1500s", out->said);
    return STATUS_OK;
}

int gnuplot_run(struct gnuplot_output *out, const char *script, size_t size, struct error *err)
{
    *out = (struct gnuplot_output){0};
    int code = 0, status = STATUS_OK, files[3] = {-1, -1, -1};
    for (int i = 0; !status && i < 3; i++) {
        files[i] = memory_file("gnuplot", err);
        status = files[i] < 0 ? STATUS_FAILED : STATUS_OK;
    }
    if (!status)
        status = write_script(files[0], script, size, err);
    if (!status)
        status = run(files[0], files[1], files[2], &code, err);
    if (!status) {
        size_t said;
        out->image = read_back(files[1], &out->size);
        out->said = read_back(files[2], &said);
        status = judge(out, code, err);
    }
    for (int i = 0; i < 3; i++)
        if (files[i] >= 0)
            close(files[i]);
    if (status)
        gnuplot_output_fini(out);
    return status;
}

void gnuplot_output_fini(struct gnuplot_output *out)
{
    free(out->image);
    free(out->said);
    *out = (struct gnuplot_output){0};
}

int gnuplot_find(struct error *err)
{
    const char *path = getenv("PATH");
    for (const char *p = path ? path : ""; *p;) {
        size_t length = strcspn(p, ":");
        char *program = memory_format("%.*s/gnuplot", (int)length, p);
        bool there = access(program, X_OK) == 0;
        free(program);
        if (there)
            return STATUS_OK;
        p += length + (p[length] == ':');
    }
    return not_found(err);
}
