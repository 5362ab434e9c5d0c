#include "harness/queue/slurm_calls.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/memory.h"
#include "harness/base/process.h"

enum { OUTPUT_MOST = 64 << 20, COMMANDS = 8 };

struct call {
    struct call *next;
    struct slurm_calls *owner;
    char *words[SLURM_WORDS_MOST + 1];
    slurm_on_reply *on_reply;
    void *arg;
    bool running, killed;
    pid_t pid;
    int pidfd, out, err; /* the files it prints into have no name: nobody has to read while it prints */
    uv_poll_t watch;
    uv_timer_t timer; /* the limit; of a call that cannot be started the moment of its answer */
    int handles;
};

struct slurm_calls {
    uv_loop_t *loop;
    double timeout;
    char **environment; /* the array and its last word are ours */
    struct call *calls; /* in the order they came */
    struct {
        char name[16];
        int times;
    } counts[COMMANDS];
    int waiting; /* calls whose handles are closing */
    bool destroyed;
};

/* What describes an allocation that we happen to be in, or how a person likes lists printed, must not reach a call. */
static bool is_kept(const char *variable)
{
    static const char *const kept[] = {"SLURM_CONF=", "SLURM_CLUSTERS=", NULL};
    static const char *const dropped[] = {"SLURM_", "SQUEUE_", "SACCT_", "TAPER_CALL=", NULL};
    for (int i = 0; kept[i]; i++)
        if (strncmp(variable, kept[i], strlen(kept[i])) == 0)
            return true;
    for (int i = 0; dropped[i]; i++)
        if (strncmp(variable, dropped[i], strlen(dropped[i])) == 0)
            return false;
    return true;
}

struct slurm_calls *slurm_calls_create(uv_loop_t *loop, double timeout)
{
    struct slurm_calls *c = memory_alloc(1, sizeof *c);
    size_t count = 0, kept = 0;
    c->loop = loop;
    c->timeout = timeout;
    while (environ[count])
        count++;
    c->environment = memory_alloc(count + 2, sizeof *c->environment);
    for (size_t i = 0; i < count; i++)
        if (is_kept(environ[i]))
            c->environment[kept++] = environ[i];
    c->environment[kept] = memory_string("TAPER_CALL=1");
    return c;
}

static void release_owner(struct slurm_calls *c)
{
    size_t last = 0;
    if (!c->destroyed || c->calls || c->waiting)
        return;
    while (c->environment[last + 1])
        last++;
    free(c->environment[last]);
    free(c->environment);
    free(c);
}

static void on_closed(uv_handle_t *handle)
{
    struct call *call = handle->data;
    struct slurm_calls *c = call->owner;
    if (--call->handles > 0)
        return;
    for (int i = 0; call->words[i]; i++)
        free(call->words[i]);
    free(call);
    c->waiting--;
    release_owner(c);
}

/* Out of the list; its memory goes with its last handle. */
static void call_close(struct call *call)
{
    struct call **at = &call->owner->calls;
    while (*at != call)
        at = &(*at)->next;
    *at = call->next;
    call->owner->waiting++;
    if (call->pidfd >= 0) {
        uv_close((uv_handle_t *)&call->watch, on_closed);
        close(call->pidfd);
    }
    if (call->out >= 0)
        close(call->out);
    if (call->err >= 0)
        close(call->err);
    uv_close((uv_handle_t *)&call->timer, on_closed);
}

/* What is in a file, with a terminator; on the heap. */
static char *read_back(int fd)
{
    struct stat st;
    size_t size = fd >= 0 && fstat(fd, &st) == 0 && st.st_size < OUTPUT_MOST ? (size_t)st.st_size : 0, used = 0;
    char *text = memory_alloc(size + 1, 1);
    ssize_t n;
    while (used < size && (n = pread(fd, text + used, size - used, (off_t)used)) > 0)
        used += (size_t)n;
    return text;
}

static void start_next(struct slurm_calls *c);

static void answer(struct call *call, bool answered, int code)
{
    struct slurm_calls *c = call->owner;
    char *out = read_back(call->out), *err = read_back(call->err);
    struct slurm_reply reply = {answered, code, out, err};
    slurm_on_reply *on_reply = call->on_reply;
    void *arg = call->arg;
    call_close(call);
    on_reply(arg, &reply);
    free(out);
    free(err);
    start_next(c);
}

static void on_exit_seen(uv_poll_t *watch, int status, int events)
{
    struct call *call = watch->data;
    siginfo_t info = {0};
    (void)status, (void)events;
    int got = waitid(P_PIDFD, (id_t)call->pidfd, &info, WEXITED | WNOHANG);
    if (got == 0 && !info.si_pid)
        return;
    bool exited = got == 0 && info.si_code == CLD_EXITED;
    answer(call, exited && !call->killed, exited ? info.si_status : -1);
}

static void on_timer(uv_timer_t *timer)
{
    struct call *call = timer->data;
    if (call->pidfd < 0) { /* it could not be started */
        answer(call, false, -1);
        return;
    }
    call->killed = true;
    process_signal(call->pidfd, SIGKILL);
}

static int spawn(struct call *call)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, call->out, 1);
    posix_spawn_file_actions_adddup2(&actions, call->err, 2);
    process_apart(&attributes);
    int code = posix_spawnp(&call->pid, call->words[0], &actions, &attributes, call->words, call->owner->environment);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return code;
}

static void start(struct call *call)
{
    struct slurm_calls *c = call->owner;
    struct process_id id;
    call->running = true;
    call->out = memfd_create("out", MFD_CLOEXEC);
    call->err = memfd_create("err", MFD_CLOEXEC);
    int code = call->out < 0 || call->err < 0 ? errno : spawn(call);
    if (!code && process_identify(call->pid, &id, NULL) == STATUS_OK)
        call->pidfd = process_open(&id);
    if (call->pidfd >= 0 && uv_poll_init(c->loop, &call->watch, call->pidfd) == 0) {
        call->watch.data = call;
        call->handles++;
        uv_poll_start(&call->watch, UV_READABLE, on_exit_seen);
        uv_timer_start(&call->timer, on_timer, (uint64_t)(1e3 * c->timeout), 0);
        return;
    }
    if (code && call->err >= 0)
        dprintf(call->err, "%s: %s\n", call->words[0], strerror(code));
    if (call->pidfd >= 0)
        close(call->pidfd);
    call->pidfd = -1;
    uv_timer_start(&call->timer, on_timer, 0, 0);
}

static void start_next(struct slurm_calls *c)
{
    int running = 0;
    for (struct call *call = c->calls; call; call = call->next)
        running += call->running;
    for (struct call *call = c->calls; call && running < SLURM_CALLS_AT_ONCE; call = call->next)
        if (!call->running) {
            start(call);
            running++;
        }
}

static void count_call(struct slurm_calls *c, const char *command)
{
    int i = 0;
    while (i < COMMANDS - 1 && c->counts[i].name[0] && strcmp(c->counts[i].name, command) != 0)
        i++;
    snprintf(c->counts[i].name, sizeof c->counts[i].name, "%s", command);
    c->counts[i].times++;
}

int slurm_calls_count(const struct slurm_calls *c, const char *command)
{
    for (int i = 0; i < COMMANDS; i++)
        if (strcmp(c->counts[i].name, command) == 0)
            return c->counts[i].times;
    return 0;
}

void slurm_call(struct slurm_calls *c, const char *const *words, slurm_on_reply *on_reply, void *arg)
{
    struct call *call = memory_alloc(1, sizeof *call), **at = &c->calls;
    *call =
        (struct call){.owner = c, .on_reply = on_reply, .arg = arg, .pidfd = -1, .out = -1, .err = -1, .handles = 1};
    for (int i = 0; words[i] && i < SLURM_WORDS_MOST; i++)
        call->words[i] = memory_string(words[i]);
    uv_timer_init(c->loop, &call->timer);
    call->timer.data = call;
    while (*at)
        at = &(*at)->next;
    *at = call;
    count_call(c, words[0]);
    start_next(c);
}

void slurm_calls_destroy(struct slurm_calls *c)
{
    c->destroyed = true;
    while (c->calls) {
        struct call *call = c->calls;
        if (call->pidfd >= 0) {
            process_signal(call->pidfd, SIGKILL);
            waitid(P_PIDFD, (id_t)call->pidfd, &(siginfo_t){0}, WEXITED);
        }
        call_close(call);
    }
    release_owner(c);
}

char *slurm_reply_text(const struct slurm_reply *reply, char *to, size_t room)
{
    const char *text = reply->err && reply->err[strspn(reply->err, " \n")] ? reply->err : reply->out;
    size_t length = text ? strlen(text) : 0;
    while (length && text[length - 1] == '\n')
        length--;
    size_t begin = length;
    while (begin && text[begin - 1] != '\n')
        begin--;
    if (!reply->answered && !length)
        snprintf(to, room, "no answer in time");
    else
        snprintf(to, room, "%.*s", (int)(length - begin), text + begin);
    return to;
}
