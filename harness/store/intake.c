#include "harness/store/intake.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/memory.h"
#include "core/base/rundir.h"
#include "harness/store/intake_internal.h"
#include "harness/store/store_internal.h"

enum { CHUNK = 1 << 18 };

struct intake {
    struct store *s;
    const struct home *home;
    char *buffer; /* INTAKE_LINE_MOST + CHUNK + 1 bytes */
};

/* How far a journal was read, as stored. */
struct mark {
    int64_t offset, inode, device, lines, bad, step;
    int64_t redo; /* its first step row takes the place of another training's rows */
};

struct intake *intake_create(struct store *s, const struct home *home)
{
    struct intake *in = memory_alloc(1, sizeof *in);
    *in = (struct intake){.s = s, .home = home, .buffer = memory_alloc(INTAKE_LINE_MOST + CHUNK + 1, 1)};
    return in;
}

void intake_destroy(struct intake *in)
{
    if (!in)
        return;
    free(in->buffer);
    free(in);
}

static int read_mark(struct intake *in, const char *run, struct mark *m, struct error *err)
{
    sqlite3_stmt *row = store_prepare(in->s,
                                      "SELECT j.offset, j.inode, j.device, j.lines, j.bad, j.step, "
                                      "EXISTS (SELECT 1 FROM redo d WHERE d.run = r.id AND d.cleared) FROM run r "
                                      "LEFT JOIN journal j ON j.run = r.id WHERE r.id = ?1",
                                      err);
    if (!row)
        return STATUS_FAILED;
    store_bind_text(row, 1, run);
    int code = sqlite3_step(row), status = STATUS_OK;
    if (code == SQLITE_ROW)
        *m = (struct mark){sqlite3_column_int64(row, 0), sqlite3_column_int64(row, 1), sqlite3_column_int64(row, 2),
                           sqlite3_column_int64(row, 3), sqlite3_column_int64(row, 4), sqlite3_column_int64(row, 5),
                           sqlite3_column_int64(row, 6)};
    else
        status = code == SQLITE_DONE ? store_refuse(in->s, err, "no run '%s'", run)
                                     : store_fail(in->s, err, "read a journal's offset");
    sqlite3_reset(row);
    return status;
}

static int write_mark(struct intake *in, const char *run, const struct mark *m, struct error *err)
{
    sqlite3_stmt *upsert = store_prepare(in->s,
                                         "INSERT OR REPLACE INTO journal (run, offset, inode, device, lines, bad, "
                                         "step, seen) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
                                         err);
    if (!upsert)
        return STATUS_FAILED;
    store_bind_text(upsert, 1, run);
    store_bind_int(upsert, 2, m->offset);
    store_bind_int(upsert, 3, m->inode);
    store_bind_int(upsert, 4, m->device);
    store_bind_int(upsert, 5, m->lines);
    store_bind_int(upsert, 6, m->bad);
    store_bind_int(upsert, 7, m->step);
    store_bind_int(upsert, 8, store_now());
    return store_step(in->s, upsert, "record a journal's offset", err);
}

/* --------------------------------------------------------------------------------------------- lines */

static int take_bad(struct intake *in, const char *run, const char *text, size_t size, const char *why, struct mark *m,
                    struct intake_result *out, struct error *err)
{
    m->bad++;
    out->bad++;
    return intake_store_bad(in->s, run, text, size, m->offset, why, err);
}

/* A line without its newline; m->offset is where it starts. */
static int take_line(struct intake *in, const char *run, const char *text, size_t size, struct mark *m,
                     struct intake_result *out, struct error *err)
{
    struct intake_line line;
    int status = intake_store_line(in->s, run, text, size, m->offset, &line, err);
    m->lines++;
    out->lines++;
    if (status == STATUS_BAD_INPUT)
        return take_bad(in, run, text, size, line.why, m, out, err);
    if (status)
        return status;
    out->rows += line.rows;
    out->finished |= line.finished;
    if (line.step < 0)
        return STATUS_OK;
    m->step = line.step;
    if (m->redo)
        status = store_redo_swap(in->s, run, line.step, err);
    m->redo = 0;
    return status;
}

/* Skip a line that is longer than any may be. *length: with its newline; 0 when that is not there yet. */
static int skip_long(int fd, int64_t offset, char *buffer, int64_t *length)
{
    int64_t at = offset;
    *length = 0;
    for (;;) {
        ssize_t got = pread(fd, buffer, CHUNK, at);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return got < 0 ? -1 : 0;
        const char *newline = memchr(buffer, '\n', (size_t)got);
        if (newline) {
            *length = at + (newline - buffer) + 1 - offset;
            return 0;
        }
        at += got;
    }
}

static int take_long(struct intake *in, const char *run, int fd, struct mark *m, bool *stop, struct intake_result *out,
                     struct error *err)
{
    char start[128];
    int64_t length;
    memcpy(start, in->buffer, sizeof start);
    if (skip_long(fd, m->offset, in->buffer, &length) != 0)
        length = 0;
    *stop = length == 0;
    if (*stop)
        return STATUS_OK;
    m->lines++;
    out->lines++;
    int status = take_bad(in, run, start, sizeof start, "a line of more than 1 MiB", m, out, err);
    m->offset += length;
    return status;
}

/* Every whole line from m->offset on, until the file or the budget ends. */
static int take_lines(struct intake *in, const char *run, int fd, struct mark *m, int64_t *budget,
                      struct intake_result *out, struct error *err)
{
    size_t held = 0; /* bytes in the buffer, from m->offset on */
    for (;;) {
        ssize_t got = pread(fd, in->buffer + held, CHUNK, m->offset + (int64_t)held);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return got == 0 ? STATUS_OK : error_errno(err, STATUS_BAD_INPUT, errno, "cannot read");
        held += (size_t)got;
        size_t used = 0;
        const char *newline;
        while ((newline = memchr(in->buffer + used, '\n', held - used))) {
            const char *text = in->buffer + used;
            size_t size = (size_t)(newline - text);
            int status = take_line(in, run, text, size, m, out, err);
            if (status)
                return status;
            m->offset += (int64_t)size + 1;
            used += size + 1;
            *budget -= (int64_t)size + 1;
            if (*budget <= 0)
                break;
        }
        held -= used;
        memmove(in->buffer, in->buffer + used, held);
        if (*budget <= 0) {
            out->more = true;
            return STATUS_OK;
        }
        if (held > INTAKE_LINE_MOST) {
            bool stop = false;
            int status = take_long(in, run, fd, m, &stop, out, err);
            if (status || stop)
                return status;
            held = 0;
        }
    }
}

/* --------------------------------------------------------------------------------------------- journals */

/* Why a journal must be read from its start; NULL when it goes on. */
static const char *why_restart(int fd, const struct stat *st, const struct mark *m)
{
    char last;
    if (m->offset == 0)
        return NULL;
    if ((int64_t)st->st_ino != m->inode || (int64_t)st->st_dev != m->device)
        return "it is another file than before";
    if (st->st_size < m->offset)
        return "it is shorter than before";
    if (pread(fd, &last, 1, m->offset - 1) == 1 && last != '\n')
        return "it was rewritten";
    return NULL;
}

/* A journal that cannot be read must not hold up the others. */
static int note_unreadable(struct intake *in, const char *run, const char *why, struct error *err)
{
    sqlite3_stmt *insert =
        store_prepare(in->s,
                      "INSERT INTO event (time, run, kind, text) SELECT ?1, ?2, 'journal', ?3 WHERE NOT EXISTS "
                      "(SELECT 1 FROM event WHERE run = ?2 AND kind = 'journal' AND text = ?3)",
                      err);
    if (!insert)
        return STATUS_FAILED;
    store_bind_int(insert, 1, store_now());
    store_bind_text(insert, 2, run);
    store_bind_text(insert, 3, why);
    return store_step(in->s, insert, "record an event", err);
}

static int take_open(struct intake *in, const char *run, int fd, const struct stat *st, struct mark *m, int64_t *budget,
                     struct intake_result *out, struct error *err)
{
    const char *why = why_restart(fd, st, m);
    struct mark before = *m;
    if (why) {
        char text[96];
        snprintf(text, sizeof text, "read again from its start: %s", why);
        int status = store_add_event(in->s, NULL, run, 0, "journal", text, err);
        if (status)
            return status;
        m->offset = m->lines = m->bad = m->step = 0;
    }
    m->inode = (int64_t)st->st_ino;
    m->device = (int64_t)st->st_dev;
    int status = take_lines(in, run, fd, m, budget, out, err);
    if (status == STATUS_BAD_INPUT)
        status = note_unreadable(in, run, err ? err->text : "cannot read", err);
    if (status || memcmp(&before, m, sizeof before) == 0)
        return status;
    return write_mark(in, run, m, err);
}

static int take_journal(struct intake *in, const char *run, int64_t *budget, struct intake_result *out,
                        struct error *err)
{
    struct mark m;
    struct stat st;
    int status = read_mark(in, run, &m, err);
    if (status)
        return status;
    char *path = home_run_file(in->home, run, RUNDIR_JOURNAL);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        struct error why = {0};
        if (errno != ENOENT) {
            error_errno(&why, STATUS_FAILED, errno, "%s: cannot open", RUNDIR_JOURNAL);
            status = note_unreadable(in, run, why.text, err);
        }
    } else if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
        status = note_unreadable(in, run, RUNDIR_JOURNAL ": not a regular file", err);
    } else if (!(st.st_size == m.offset && (int64_t)st.st_ino == m.inode && (int64_t)st.st_dev == m.device)) {
        status = take_open(in, run, fd, &st, &m, budget, out, err);
    }
    if (fd >= 0)
        close(fd);
    free(path);
    return status;
}

int intake_pass(struct intake *in, const char *const *runs, int count, int64_t budget, struct intake_result *out,
                struct error *err)
{
    struct intake_result scratch = {0};
    int64_t left = budget > 0 ? budget : INT64_MAX;
    out = out ? out : &scratch;
    *out = (struct intake_result){0};
    int status = store_begin(in->s, false, err);
    if (status)
        return status;
    for (int i = 0; !status && i < count; i++) {
        if (left <= 0) {
            out->more = true;
            break;
        }
        status = take_journal(in, runs[i], &left, out, err);
    }
    if (!status)
        return store_commit(in->s, err);
    store_rollback(in->s);
    *out = (struct intake_result){0};
    return status;
}
