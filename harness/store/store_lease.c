/* Who writes: HOME/taper.lock. On one machine its flock decides, whatever the file says. Between machines flock holds
 * on some file systems and not on others, so the file also says who has it: a line with the process, its machine, and a
 * sign of life that is written again every few seconds. In this file and not in the database, since a database in WAL
 * mode must not even be opened on two machines at once. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "core/base/memory.h"
#include "harness/base/process.h"
#include "harness/store/store_internal.h"

enum {
    LINE = 256,
    WATCH_MS = 250,
    BELIEVED_US = 60000000,
    LOCK_PATIENCE_MS = 5000,
    LIVING_PATIENCE_MS = 500,
    LOCK_PAUSE_MS = 20
};

/* Longer than from one sign of life to the next. */
enum { WATCHED_MS = 1000 * STORE_LEASE_S + 2000 };

struct lease {
    char process[24], host[128], boot[PROCESS_BOOT];
    int64_t beat; /* UTC, us */
};

static void read_lease(int fd, struct lease *l)
{
    char line[LINE] = "";
    ssize_t got = pread(fd, line, sizeof line - 1, 0);
    *l = (struct lease){.beat = 0};
    if (got > 0)
        sscanf(line, "%23s %127s %39s %" SCNd64, l->process, l->host, l->boot, &l->beat);
}

static void describe_self(struct lease *l)
{
    *l = (struct lease){.beat = store_now()};
    snprintf(l->process, sizeof l->process, "%ld", (long)getpid());
    if (gethostname(l->host, sizeof l->host - 1) != 0 || !l->host[0])
        snprintf(l->host, sizeof l->host, "unknown");
    process_boot(l->boot);
    if (!l->boot[0])
        snprintf(l->boot, sizeof l->boot, "-");
}

/* One kernel has one boot, and its flock is seen by all of it, whatever its containers call themselves. */
static bool is_elsewhere(const struct lease *l, const struct lease *self)
{
    return l->host[0] && strcmp(l->host, self->host) != 0 && strcmp(l->boot, self->boot) != 0;
}

static bool same_holder(const struct lease *a, const struct lease *b)
{
    return strcmp(a->process, b->process) == 0 && strcmp(a->host, b->host) == 0 && strcmp(a->boot, b->boot) == 0;
}

/* Always of one length: on a full disk it can still be written over itself. */
static void write_lease(int fd, const struct lease *l)
{
    char line[LINE];
    int used = snprintf(line, sizeof line, "%s %s %s %" PRId64, l->process, l->host, l->boot, l->beat);
    memset(line + used, ' ', sizeof line - (size_t)used - 1);
    line[sizeof line - 1] = '\n';
    if (pwrite(fd, line, sizeof line, 0) != (ssize_t)sizeof line || fdatasync(fd) != 0)
        errno = 0; /* the next one may */
}

static int refuse(struct store *s, const struct home *home, const struct lease *l, bool elsewhere, struct error *err)
{
    s->trouble = STORE_BUSY;
    if (!elsewhere)
        return error_set(err, STATUS_FAILED, "home %s is in use by process %s; one daemon or 'taper run' at a time",
                         home->dir, l->process[0] ? l->process : "(unknown)");
    return error_set(
        err, STATUS_FAILED,
        "home %s is in use by process %s on host %s, whose last sign of life came %.0f s ago; one daemon or "
        "'taper run' at a time, on whatever host (one that was killed there is believed gone after %d s)",
        home->dir, l->process, l->host, 1e-6 * (double)(store_now() - l->beat), BELIEVED_US / 1000000);
}

/* Whether another machine's holder is alive: by its clock and ours, or, where those may differ, by watching it. */
static bool shows_life(int fd, const struct lease *l)
{
    const struct timespec pause = {0, WATCH_MS * 1000000};
    int64_t age = store_now() - l->beat;
    if (age > -BELIEVED_US && age < BELIEVED_US)
        return true;
    for (int waited = 0; waited < WATCHED_MS; waited += WATCH_MS) {
        struct lease now;
        nanosleep(&pause, NULL);
        read_lease(fd, &now);
        if (now.beat != l->beat)
            return now.process[0] != '\0';
    }
    return false;
}

/* On this machine: elsewhere nobody can tell from here. */
static bool holder_lives(const struct lease *l)
{
    struct process_row row;
    const pid_t pid = (pid_t)strtol(l->process, NULL, 10);
    return pid > 0 && process_read(pid, &row) == 0 && row.state != 'Z';
}

/* A daemon that was killed while it started a worker leaves the lock to that child until it has become the worker,
 * which on a busy machine takes its time; and one that is killed lives until the last of its threads is back from the
 * disk. So a lock whose holder is gone is waited for, and for a moment that of one that lives. */
static bool lock_within(int lock, const struct lease *self, int patience_ms)
{
    for (int ms = 0;; ms += LOCK_PAUSE_MS) {
        struct lease holder;
        if (flock(lock, LOCK_EX | LOCK_NB) == 0)
            return true;
        const int code = errno;
        read_lease(lock, &holder);
        const bool elsewhere = is_elsewhere(&holder, self);
        const int patience = elsewhere ? 0 : holder_lives(&holder) ? LIVING_PATIENCE_MS : patience_ms;
        errno = code;
        if (code != EWOULDBLOCK || ms >= patience)
            return false;
        nanosleep(&(struct timespec){.tv_nsec = LOCK_PAUSE_MS * 1000000L}, NULL);
    }
}

bool store_is_held(const struct home *home)
{
    struct lease holder = {.beat = 0}, self;
    int fd = open(home->lock, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    read_lease(fd, &holder);
    close(fd);
    describe_self(&self);
    return is_elsewhere(&holder, &self) ? holder.process[0] != '\0' : holder_lives(&holder);
}

int store_lease_take(struct store *s, const struct home *home, struct error *err)
{
    struct lease holder, self;
    s->lock = open(home->lock, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (s->lock < 0)
        return error_errno(err, STATUS_FAILED, errno, "%s: cannot open", home->lock);
    describe_self(&self);
    if (!lock_within(s->lock, &self, LOCK_PATIENCE_MS)) {
        if (errno != EWOULDBLOCK)
            return error_errno(err, STATUS_FAILED, errno, "%s: cannot lock", home->lock);
        read_lease(s->lock, &holder);
        return refuse(s, home, &holder, is_elsewhere(&holder, &self), err);
    }
    read_lease(s->lock, &holder);
    if (is_elsewhere(&holder, &self) && shows_life(s->lock, &holder))
        return refuse(s, home, &holder, true, err);
    write_lease(s->lock, &self);
    s->leased = true;
    return STATUS_OK;
}

int store_lease_beat(struct store *s, struct error *err)
{
    struct lease holder, self;
    describe_self(&self);
    read_lease(s->lock, &holder);
    if (holder.process[0] && !same_holder(&holder, &self)) {
        s->leased = false;
        return error_set(err, STATUS_STOPPED, "the home was taken by process %s on host %s", holder.process,
                         holder.host);
    }
    write_lease(s->lock, &self);
    return STATUS_OK;
}

void store_lease_drop(struct store *s)
{
    if (s->lock < 0)
        return;
    if (s->leased && ftruncate(s->lock, 0) != 0)
        errno = 0; /* a holder whose process is gone, for those who look from here */
    close(s->lock);
    s->lock = -1;
}
