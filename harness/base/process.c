#include "harness/base/process.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/base/memory.h"

/* A small file of /proc, whole and with a terminator; its length or -1. */
static ssize_t read_small(const char *path, char *to, size_t room)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    ssize_t n = read(fd, to, room - 1);
    close(fd);
    if (n >= 0)
        to[n] = '\0';
    return n;
}

static char this_boot[PROCESS_BOOT];

static void read_boot(void)
{
    if (read_small("/proc/sys/kernel/random/boot_id", this_boot, sizeof this_boot) < 0)
        this_boot[0] = '\0';
    this_boot[strcspn(this_boot, "\n")] = '\0';
}

/* Read once: no process sees two. */
void process_boot(char to[PROCESS_BOOT])
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, read_boot);
    memcpy(to, this_boot, PROCESS_BOOT);
}

int process_read(pid_t pid, struct process_row *row)
{
    char path[64], text[1024];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    if (read_small(path, text, sizeof text) <= 0)
        return -1;
    /* The name may hold spaces and parentheses: the fields begin after the last ')'. */
    const char *at = strrchr(text, ')');
    int parent, group, session, threads;
    char state;
    uint64_t start;
    if (!at || sscanf(at + 1, " %c %d %d %d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %d %*d %" SCNu64,
                      &state, &parent, &group, &session, &threads, &start) != 6)
        return -1;
    if (state == 'Z' && threads > 1) /* its first thread's: others are still there, and so are its files and locks */
        state = 'D';
    *row = (struct process_row){pid, parent, group, session, start, state};
    return 0;
}

int process_identify(pid_t pid, struct process_id *id, struct error *err)
{
    struct process_row row;
    if (process_read(pid, &row) != 0)
        return error_set(err, STATUS_FAILED, "process %d is gone", (int)pid);
    *id = (struct process_id){.pid = pid, .start = row.start};
    process_boot(id->boot);
    return STATUS_OK;
}

int process_open(const struct process_id *id)
{
    char boot[PROCESS_BOOT];
    struct process_row row;
    process_boot(boot);
    if (id->pid <= 0 || strcmp(boot, id->boot) != 0) {
        errno = ESRCH;
        return -1;
    }
    int fd = (int)syscall(SYS_pidfd_open, id->pid, 0);
    if (fd < 0)
        return -1;
    fcntl(fd, F_SETFD, FD_CLOEXEC);
    if (process_read(id->pid, &row) != 0 || row.start != id->start) {
        close(fd);
        errno = ESRCH;
        return -1;
    }
    return fd;
}

int process_open_child(pid_t pid)
{
    return (int)syscall(SYS_pidfd_open, pid, 0); /* close-on-exec by itself */
}

void process_apart(posix_spawnattr_t *attributes)
{
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_init(attributes);
    posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    posix_spawnattr_setsigmask(attributes, &none);
    posix_spawnattr_setsigdefault(attributes, &all);
}

int process_signal(int pidfd, int signal)
{
    return (int)syscall(SYS_pidfd_send_signal, pidfd, signal, NULL, 0);
}

int process_signal_value(int pidfd, const siginfo_t *info)
{
    return (int)syscall(SYS_pidfd_send_signal, pidfd, info->si_signo, info, 0);
}

struct process_row *process_list(size_t *count)
{
    size_t room = 256, used = 0;
    struct process_row *rows = memory_alloc(room, sizeof *rows);
    DIR *dir = opendir("/proc");
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        if (!isdigit((unsigned char)entry->d_name[0]))
            continue;
        if (used == room)
            rows = memory_resize(rows, room *= 2, sizeof *rows);
        if (process_read((pid_t)strtol(entry->d_name, NULL, 10), &rows[used]) == 0)
            used++;
    }
    if (dir)
        closedir(dir);
    *count = used;
    return rows;
}

struct process_row *process_descendants(pid_t root, size_t *count)
{
    size_t all, kept = 0;
    struct process_row *rows = process_list(&all);
    /* Rows found so far are moved to the front; a pass that finds none ends it. */
    for (size_t before = SIZE_MAX; before != kept;) {
        before = kept;
        for (size_t i = kept; i < all; i++) {
            bool below = rows[i].parent == root;
            for (size_t j = 0; j < kept && !below; j++)
                below = rows[i].parent == rows[j].pid;
            if (!below)
                continue;
            struct process_row found = rows[i];
            rows[i] = rows[kept];
            rows[kept++] = found;
        }
    }
    *count = kept;
    return rows;
}

bool process_has_environment(pid_t pid, const char *pair)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/environ", (int)pid);
    FILE *in = fopen(path, "re");
    if (!in)
        return false;
    char *entry = NULL;
    size_t room = 0;
    bool found = false;
    while (!found && getdelim(&entry, &room, '\0', in) > 0)
        found = strcmp(entry, pair) == 0;
    free(entry);
    fclose(in);
    return found;
}

bool process_signal_row(const struct process_row *row, int signal)
{
    struct process_row now;
    int fd = (int)syscall(SYS_pidfd_open, row->pid, 0);
    if (fd < 0)
        return false;
    bool same = process_read(row->pid, &now) == 0 && now.start == row->start;
    if (same)
        same = process_signal(fd, signal) == 0;
    close(fd);
    return same;
}
