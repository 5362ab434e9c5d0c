#include "core/data/fetch_curl.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { REPORT_MS = 200, MOST_ATTEMPTS = 20 };

/* curl's exit statuses that are told apart (curl(1), EXIT CODES). */
enum {
    CURL_PARTIAL = 18,
    CURL_WRITE = 23,
    CURL_TIMEOUT = 28,
    CURL_NO_RANGE = 33,
    CURL_RECEIVE = 56,
    HTTP_RANGE_UNSATISFIABLE = 416,
};

static int64_t part_size(const struct fetch_download *d)
{
    struct stat st;
    return fstat(d->lock, &st) == 0 ? (int64_t)st.st_size : 0;
}

/* Read what curl prints until it closes the pipes: the status code from out, its complaints from err. */
static void listen(struct fetch_download *d, int out, int complaints, pid_t pid)
{
    struct pollfd fds[2] = {{.fd = out, .events = POLLIN}, {.fd = complaints, .events = POLLIN}};
    char code[16] = "";
    char *to[2] = {code, d->message};
    size_t room[2] = {sizeof code - 1, sizeof d->message - 1}, used[2] = {0, 0};
    while (fds[0].fd >= 0 || fds[1].fd >= 0) {
        int ready = poll(fds, 2, REPORT_MS);
        if (ready < 0 && errno != EINTR)
            break;
        for (int i = 0; i < 2 && ready > 0; i++) {
            if (fds[i].fd < 0 || !fds[i].revents)
                continue;
            char buffer[512];
            ssize_t got = read(fds[i].fd, buffer, sizeof buffer);
            if (got <= 0) {
                fds[i].fd = -1;
                continue;
            }
            size_t keep = (size_t)got < room[i] - used[i] ? (size_t)got : room[i] - used[i];
            memcpy(to[i] + used[i], buffer, keep);
            used[i] += keep;
        }
        if (d->progress && d->progress->report)
            d->progress->report(d->progress->arg, "downloading", (uint64_t)part_size(d), 0);
        if (part_size(d) > d->most)
            kill(pid, SIGTERM);
    }
    code[used[0]] = '\0';
    d->message[used[1]] = '\0';
    d->message[strcspn(d->message, "\n")] = '\0';
    d->http = (int)strtol(code, NULL, 10); /* what is no number counts as 0: no answer */
}

static int spawn_curl(const struct fetch_download *d, int out, int complaints, pid_t *pid)
{
    const bool safe = strncasecmp(d->url, "https:", 6) == 0;
    char *const argv[] = {"curl",
                          "--fail",
                          "--silent",
                          "--show-error",
                          "--location",
                          "--globoff",
                          "--proto",
                          "=http,https,file",
                          "--proto-redir",
                          safe ? "=https" : "=http,https",
                          "--max-redirs",
                          "10",
                          "--connect-timeout",
                          "30",
                          "--speed-limit",
                          "1",
                          "--speed-time",
                          "60",
                          "--continue-at",
                          "-",
                          "--dump-header",
                          d->headers,
                          "--write-out",
                          "%{http_code}",
                          "--output",
                          (char *)d->part,
                          "--url",
                          (char *)d->url,
                          NULL};
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, out, 1);
    posix_spawn_file_actions_adddup2(&actions, complaints, 2);
    int code = posix_spawnp(pid, "curl", &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    return code;
}

/* Run curl once, from the end of what is there. Its exit status is in d. */
static int run_curl(struct fetch_download *d, struct error *err)
{
    int out[2], complaints[2];
    if (pipe2(out, O_CLOEXEC) != 0)
        return error_errno(err, STATUS_FAILED, errno, "cannot make a pipe");
    if (pipe2(complaints, O_CLOEXEC) != 0) {
        int status = error_errno(err, STATUS_FAILED, errno, "cannot make a pipe");
        close(out[0]);
        close(out[1]);
        return status;
    }
    pid_t pid;
    int code = spawn_curl(d, out[1], complaints[1], &pid), result = 0;
    close(out[1]);
    close(complaints[1]);
    if (code == 0)
        listen(d, out[0], complaints[0], pid);
    close(out[0]);
    close(complaints[0]);
    if (code == ENOENT)
        return error_set(err, STATUS_FAILED, "the curl command is not installed (not found in PATH); it downloads %s",
                         d->url);
    if (code)
        return error_errno(err, STATUS_FAILED, code, "cannot start curl");
    while (waitpid(pid, &result, 0) < 0 && errno == EINTR)
        ;
    if (part_size(d) > d->most)
        return error_set(err, STATUS_BAD_INPUT, "%s: want at most %lld bytes, got more", d->url, d->most);
    if (WIFSIGNALED(result))
        return error_set(err, STATUS_FAILED, "%s: curl was ended by signal %d; what was received is kept", d->url,
                         WTERMSIG(result));
    d->exit_status = WEXITSTATUS(result);
    return STATUS_OK;
}

/* The whole size as the server told it refusing the range: "Content-Range: bytes * / SIZE"; -1 when it did not. */
static long long told_size(const struct fetch_download *d)
{
    FILE *headers = fopen(d->headers, "re");
    char line[1024];
    long long size = -1;
    while (headers && fgets(line, sizeof line, headers)) {
        static const char key[] = "content-range: bytes */";
        char *end;
        if (strncasecmp(line, key, sizeof key - 1) != 0)
            continue;
        errno = 0;
        long long value = strtoll(line + sizeof key - 1, &end, 10);
        if (end != line + sizeof key - 1 && errno == 0 && value >= 0)
            size = value;
    }
    if (headers)
        fclose(headers);
    return size;
}

static int start_over(const struct fetch_download *d, struct error *err)
{
    if (ftruncate(d->lock, 0) != 0)
        return error_errno(err, STATUS_FAILED, errno, "%s: cannot empty it", d->part);
    return STATUS_OK;
}

/* A page of a portal, or of an error that is told with 200, instead of the file? The last answer's type counts. */
static int check_type(const struct fetch_download *d, struct error *err)
{
    static const char *const pages[] = {"text/html", "application/xhtml", "application/json", "application/xml",
                                        "text/xml"};
    static const char key[] = "content-type:";
    FILE *headers = fopen(d->headers, "re");
    char line[1024], type[80] = "";
    while (headers && fgets(line, sizeof line, headers)) {
        if (strncmp(line, "HTTP/", 5) == 0)
            type[0] = '\0';
        if (strncasecmp(line, key, sizeof key - 1) == 0)
            snprintf(type, sizeof type, "%.79s", line + sizeof key - 1 + strspn(line + sizeof key - 1, " \t"));
    }
    if (headers)
        fclose(headers);
    type[strcspn(type, ";\r\n")] = '\0';
    for (size_t i = 0; i < sizeof pages / sizeof pages[0]; i++)
        if (strncasecmp(type, pages[i], strlen(pages[i])) == 0)
            return error_set(err, STATUS_BAD_INPUT, "%s: want a text, the server sends %s (does a portal answer?)",
                             d->url, type);
    return STATUS_OK;
}

static int curl_failed(const struct fetch_download *d, struct error *err)
{
    const char *hint = d->exit_status == CURL_WRITE ? " (is the disk full?)" : "";
    const char *kept = part_size(d) > 0 ? "; what was received is kept, and the next try continues there" : "";
    return error_set(err, STATUS_FAILED, "%s: %s%s%s", d->url, d->message[0] ? d->message : "curl failed", hint, kept);
}

int fetch_curl(struct fetch_download *d, struct error *err)
{
    bool restarted = false;
    for (int attempt = 0; attempt < MOST_ATTEMPTS; attempt++) {
        int64_t had = part_size(d);
        int status = run_curl(d, err);
        if (!status && d->http / 100 == 2)
            status = check_type(d, err);
        if (status == STATUS_BAD_INPUT && (had == 0 || part_size(d) > d->most))
            start_over(d, NULL); /* nothing of it is worth going on from */
        if (status)
            return status;
        bool refused = had > 0 && (d->exit_status == CURL_NO_RANGE || d->http == HTTP_RANGE_UNSATISFIABLE);
        if (d->exit_status == 0 && !refused)
            return STATUS_OK;
        if (refused && d->http == HTTP_RANGE_UNSATISFIABLE && told_size(d) == had)
            return STATUS_OK; /* all of it was there */
        if (refused && !restarted) {
            restarted = true;
            status = start_over(d, err);
            if (status)
                return status;
            continue;
        }
        bool broken =
            d->exit_status == CURL_PARTIAL || d->exit_status == CURL_RECEIVE || d->exit_status == CURL_TIMEOUT;
        if (!broken || part_size(d) <= had)
            break;
    }
    return curl_failed(d, err);
}
