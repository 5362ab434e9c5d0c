#include "core/data/fetch.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sodium.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/file.h"
#include "core/memory.h"

extern char **environ;

enum { SUM_HEX = 64, REPORT_MS = 200, MOST_ATTEMPTS = 20 };

/* curl's exit statuses that are told apart (curl(1), EXIT CODES). */
enum {
    CURL_PARTIAL = 18,
    CURL_WRITE = 23,
    CURL_TIMEOUT = 28,
    CURL_NO_RANGE = 33,
    CURL_RECEIVE = 56,
    HTTP_RANGE_UNSATISFIABLE = 416,
};

static const struct fetch_file tinystories_files[] = {
    {"train", "TinyStoriesV2-GPT4-train.txt"},
    {"valid", "TinyStoriesV2-GPT4-valid.txt"},
};

/* Eldan and Li 2023, "TinyStories: how small can language models be and still speak coherent English?" */
static const struct fetch_set sets[] = {
    {"tinystories", "https://huggingface.co/datasets/roneneldan/TinyStories/resolve/main", "TAPER_TINYSTORIES_URL",
     tinystories_files, 2},
};

const struct fetch_set *fetch_find(const char *name)
{
    for (size_t i = 0; i < sizeof sets / sizeof sets[0]; i++)
        if (strcmp(sets[i].name, name) == 0)
            return &sets[i];
    return NULL;
}

static const char *variable(const char *name)
{
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

int fetch_directory(const struct fetch_set *set, char **out, struct error *err)
{
    const char *cache = variable("TAPER_CACHE"), *xdg = variable("XDG_CACHE_HOME"), *home = variable("HOME");
    *out = NULL;
    if (cache)
        *out = memory_format("%s/%s", cache, set->name);
    else if (xdg)
        *out = memory_format("%s/taper/%s", xdg, set->name);
    else if (home)
        *out = memory_format("%s/.cache/taper/%s", home, set->name);
    else
        return error_set(err, STATUS_BAD_INPUT, "no cache directory: set TAPER_CACHE (HOME is not set)");
    return STATUS_OK;
}

/* ---- checksums ---- */

static int file_sum(const char *path, char hex[SUM_HEX + 1], struct error *err)
{
    struct file_map map;
    int status = file_map_open(&map, path, err);
    if (status)
        return status;
    unsigned char sum[crypto_hash_sha256_BYTES];
    crypto_hash_sha256(sum, map.data, map.size);
    file_map_close(&map);
    sodium_bin2hex(hex, SUM_HEX + 1, sum, sizeof sum);
    return STATUS_OK;
}

/* 64 hex digits, in lower case. */
static bool parse_sum(const char *text, size_t length, char hex[SUM_HEX + 1])
{
    unsigned char sum[crypto_hash_sha256_BYTES];
    size_t bytes;
    if (length != SUM_HEX || sodium_hex2bin(sum, sizeof sum, text, length, NULL, &bytes, NULL) != 0 ||
        bytes != sizeof sum)
        return false;
    sodium_bin2hex(hex, SUM_HEX + 1, sum, sizeof sum);
    return true;
}

/* The recorded sum of a file, in FILE.sha256: "HEX  NAME". *found is false when nothing was recorded. */
static int read_record(const char *path, char hex[SUM_HEX + 1], bool *found, struct error *err)
{
    char *record = memory_format("%s.sha256", path);
    struct file_map map = {0};
    int status = STATUS_OK;
    *found = access(record, F_OK) == 0;
    if (*found) {
        status = file_map_open(&map, record, err);
        const char *space = status ? NULL : memchr(map.data, ' ', map.size);
        if (!status && (!space || !parse_sum((const char *)map.data, (size_t)(space - (const char *)map.data), hex)))
            status = error_set(err, STATUS_BAD_INPUT, "%s: want a SHA-256 as sha256sum prints it", record);
        file_map_close(&map);
    }
    free(record);
    return status;
}

static int write_record(const char *path, const char *name, const char *hex, struct error *err)
{
    char *record = memory_format("%s.sha256", path), *line = memory_format("%s  %s\n", hex, name);
    int status = file_write_all(record, line, strlen(line), err);
    free(record);
    free(line);
    return status;
}

/* ---- curl ---- */

struct download {
    const char *url, *part;
    int lock;               /* part, open and locked; curl inherits it, so an orphaned one still holds the lock */
    char *headers;          /* where curl writes the server's headers */
    int exit_status, http;  /* of the last curl */
    char message[512];      /* what it wrote to standard error, one line */
    const struct progress *progress;
};

static int64_t part_size(const struct download *d)
{
    struct stat st;
    return fstat(d->lock, &st) == 0 ? (int64_t)st.st_size : 0;
}

/* Read what curl prints until it closes the pipes: the status code from out, its complaints from err. */
static void listen(struct download *d, int out, int complaints)
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
    }
    code[used[0]] = '\0';
    d->message[used[1]] = '\0';
    d->message[strcspn(d->message, "\n")] = '\0';
    d->http = (int)strtol(code, NULL, 10); /* what is no number counts as 0: no answer */
}

static int spawn_curl(const struct download *d, int out, int complaints, pid_t *pid)
{
    char *const argv[] = {"curl", "--fail", "--silent", "--show-error", "--location", "--globoff", "--proto",
                          "=http,https,file", "--connect-timeout", "30", "--speed-limit", "1", "--speed-time", "60",
                          "--continue-at", "-", "--dump-header", d->headers, "--write-out", "%{http_code}", "--output",
                          (char *)d->part, "--url", (char *)d->url, NULL};
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
static int run_curl(struct download *d, struct error *err)
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
        listen(d, out[0], complaints[0]);
    close(out[0]);
    close(complaints[0]);
    if (code == ENOENT)
        return error_set(err, STATUS_FAILED, "the curl command is not installed (not found in PATH); it downloads %s",
                         d->url);
    if (code)
        return error_errno(err, STATUS_FAILED, code, "cannot start curl");
    while (waitpid(pid, &result, 0) < 0 && errno == EINTR)
        ;
    if (WIFSIGNALED(result))
        return error_set(err, STATUS_FAILED, "%s: curl was ended by signal %d; what was received is kept", d->url,
                         WTERMSIG(result));
    d->exit_status = WEXITSTATUS(result);
    return STATUS_OK;
}

/* The whole size as the server told it refusing the range: "Content-Range: bytes * / SIZE"; -1 when it did not. */
static long long told_size(const struct download *d)
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

static int start_over(const struct download *d, struct error *err)
{
    if (ftruncate(d->lock, 0) != 0)
        return error_errno(err, STATUS_FAILED, errno, "%s: cannot empty it", d->part);
    return STATUS_OK;
}

static int curl_failed(const struct download *d, struct error *err)
{
    const char *hint = d->exit_status == CURL_WRITE ? " (is the disk full?)" : "";
    const char *kept = part_size(d) > 0 ? "; what was received is kept, and the next try continues there" : "";
    return error_set(err, STATUS_FAILED, "%s: %s%s%s", d->url, d->message[0] ? d->message : "curl failed", hint, kept);
}

/* Download to the end. A broken connection is taken up again while each attempt brings something. */
static int download(struct download *d, struct error *err)
{
    bool restarted = false;
    for (int attempt = 0; attempt < MOST_ATTEMPTS; attempt++) {
        int64_t had = part_size(d);
        int status = run_curl(d, err);
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
        bool broken = d->exit_status == CURL_PARTIAL || d->exit_status == CURL_RECEIVE || d->exit_status == CURL_TIMEOUT;
        if (!broken || part_size(d) <= had)
            break;
    }
    return curl_failed(d, err);
}

/* ---- the cache ---- */

static int lock_part(struct download *d, struct error *err)
{
    d->lock = open(d->part, O_RDWR | O_CREAT, 0666); /* inherited by curl on purpose */
    if (d->lock < 0)
        return error_errno(err, STATUS_FAILED, errno, "%s: cannot create", d->part);
    if (flock(d->lock, LOCK_EX | LOCK_NB) != 0) {
        int status = errno == EWOULDBLOCK
                         ? error_set(err, STATUS_FAILED, "%s: another process is downloading this file", d->part)
                         : error_errno(err, STATUS_FAILED, errno, "%s: cannot lock", d->part);
        close(d->lock);
        return status;
    }
    return STATUS_OK;
}

/* The part is whole: compare it with the sum wanted ("" for any), record its own, and give it its name. */
static int accept_part(const struct download *d, const char *path, const char *name, const char *want, struct error *err)
{
    char sum[SUM_HEX + 1];
    int status = file_sum(d->part, sum, err);
    if (status)
        return status;
    if (want[0] && strcmp(want, sum) != 0) {
        char *bad = memory_format("%s.bad", d->part);
        rename(d->part, bad);
        status = error_set(err, STATUS_BAD_INPUT, "%s: wrong SHA-256: want %s, got %s (kept as %s)", d->url, want, sum,
                           bad);
        free(bad);
        return status;
    }
    if (fsync(d->lock) != 0)
        return error_errno(err, STATUS_FAILED, errno, "%s: cannot write", d->part);
    status = write_record(path, name, sum, err);
    if (!status && rename(d->part, path) != 0)
        status = error_errno(err, STATUS_FAILED, errno, "%s: cannot rename to %s", d->part, path);
    return status;
}

static int download_file(const char *url, const char *path, const char *name, const char *want,
                         const struct progress *progress, struct error *err)
{
    char *part = memory_format("%s.part", path);
    struct download d = {.url = url, .part = part, .headers = memory_format("%s.headers", path), .progress = progress};
    int status = lock_part(&d, err);
    if (!status) {
        if (access(path, F_OK) != 0) { /* else the process that held the lock has just finished it */
            status = download(&d, err);
            if (!status)
                status = accept_part(&d, path, name, want, err);
        } else {
            unlink(part);
        }
        unlink(d.headers);
        close(d.lock);
    }
    free(d.headers);
    free(part);
    return status;
}

/* A file that is there against the sum wanted, "" for the recorded one. */
static int check_file(const char *path, const char *want, struct error *err)
{
    char sum[SUM_HEX + 1], recorded[SUM_HEX + 1] = "";
    bool found;
    int status = read_record(path, recorded, &found, err);
    if (!status && !want[0] && !found)
        return error_set(err, STATUS_BAD_INPUT, "%s: no recorded SHA-256 (%s.sha256) to check it against; "
                         "remove the file and fetch it again, or give its sum", path, path);
    if (!status)
        status = file_sum(path, sum, err);
    if (!status && strcmp(want[0] ? want : recorded, sum) != 0)
        status = error_set(err, STATUS_BAD_INPUT, "%s: wrong SHA-256: want %s (%s), got %s", path,
                           want[0] ? want : recorded, want[0] ? "as given" : "recorded when it was fetched", sum);
    return status;
}

int fetch_get(const struct fetch_set *set, const struct fetch_file *file, const char *base, const char *sha256,
              char **path, const struct progress *progress, struct error *err)
{
    char *directory, want[SUM_HEX + 1] = "";
    *path = NULL;
    if (sha256 && !parse_sum(sha256, strlen(sha256), want))
        return error_set(err, STATUS_BAD_INPUT, "%s: want a SHA-256 of 64 hex digits, got '%s'", file->split, sha256);
    int status = fetch_directory(set, &directory, err);
    if (status)
        return status;
    *path = file_join(directory, file->name);
    if (!base)
        base = variable(set->environment) ? variable(set->environment) : set->base;
    char *url = file_join(base, file->name);
    if (access(*path, F_OK) == 0) {
        status = check_file(*path, want, err);
        if (!status && want[0]) /* a file put there by hand: what was given is now what is recorded */
            status = write_record(*path, file->name, want, err);
    } else {
        status = file_make_directories(directory, err);
        if (!status)
            status = download_file(url, *path, file->name, want, progress, err);
    }
    free(url);
    free(directory);
    if (status) {
        free(*path);
        *path = NULL;
    }
    return status;
}

int fetch_use(const struct fetch_set *set, const struct fetch_file *file, char **path, struct error *err)
{
    char *directory;
    *path = NULL;
    int status = fetch_directory(set, &directory, err);
    if (status)
        return status;
    *path = file_join(directory, file->name);
    if (access(*path, F_OK) != 0)
        status = error_set(err, STATUS_BAD_INPUT, "%s: not there: 'taper data fetch %s' downloads it", *path, set->name);
    else
        status = check_file(*path, "", err);
    free(directory);
    if (status) {
        free(*path);
        *path = NULL;
    }
    return status;
}
