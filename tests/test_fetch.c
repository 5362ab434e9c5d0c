/* Downloads: from a server on loopback that breaks, stalls, refuses; the cache, the lock and the checksums. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <sodium.h>

#include "core/data/fetch.h"
#include "core/base/file.h"
#include "core/base/memory.h"
#include "tests/support/data.h"
#include "tests/support/http_server.h"

enum { SIZE = 300000 };

static unsigned char content[SIZE];
static char content_sum[65];

/* One test's server, private cache and paths. */
struct place {
    struct http_server server;
    const struct fetch_set *set;
    const struct fetch_file *file;
    char *cache, *path, *part, *record;
};

static int setup(void **state)
{
    struct place *p = memory_alloc(1, sizeof *p);
    http_server_start(&p->server, content, SIZE);
    p->cache = data_folder_make();
    setenv("TAPER_CACHE", p->cache, 1);
    p->set = fetch_find("tinystories");
    assert_non_null(p->set);
    p->file = &p->set->files[1];
    p->path = memory_format("%s/tinystories/%s", p->cache, p->file->name);
    p->part = memory_format("%s.part", p->path);
    p->record = memory_format("%s.sha256", p->path);
    *state = p;
    return 0;
}

static int teardown(void **state)
{
    struct place *p = *state;
    http_server_stop(&p->server);
    data_folder_remove(p->cache);
    free(p->path);
    free(p->part);
    free(p->record);
    free(p);
    return 0;
}

static int get(const struct place *p, const char *sha256, struct error *err)
{
    char *path = NULL;
    *err = (struct error){0};
    int status = fetch_get(p->set, p->file, p->server.base, sha256, &path, NULL, err);
    assert_int_equal(status, err->status);
    assert_true((path != NULL) == (status == STATUS_OK));
    if (path)
        assert_string_equal(path, p->path);
    free(path);
    return status;
}

static void expect_content(const struct place *p)
{
    size_t size;
    unsigned char *bytes = data_file_read(p->path, &size);
    assert_int_equal(size, SIZE);
    assert_memory_equal(bytes, content, SIZE);
    free(bytes);
    assert_int_not_equal(access(p->part, F_OK), 0);
    char *want = memory_format("%s  %s\n", content_sum, p->file->name);
    char *record = (char *)data_file_read(p->record, &size);
    assert_string_equal(record, want);
    free(record);
    free(want);
}

static void expect_text(const struct error *err, const char *want)
{
    if (!strstr(err->text, want))
        fail_msg("want '%s' in '%s'", want, err->text);
}

static void write_part(const struct place *p, const void *bytes, size_t size)
{
    char *name = memory_format("tinystories/%s.part", p->file->name);
    free(data_file_write(p->cache, name, bytes, size));
    free(name);
}

static void test_plain(void **state)
{
    struct place *p = *state;
    struct error err;
    char *path;
    assert_int_equal(fetch_use(p->set, p->file, &path, &err), STATUS_BAD_INPUT);
    expect_text(&err, "taper data fetch tinystories");
    assert_int_equal(get(p, NULL, &err), STATUS_OK);
    expect_content(p);
    assert_int_equal(p->server.control->requests, 1);
    assert_int_equal(get(p, NULL, &err), STATUS_OK); /* it is there: only checked */
    assert_int_equal(p->server.control->requests, 1);
    assert_int_equal(fetch_use(p->set, p->file, &path, &err), STATUS_OK);
    assert_string_equal(path, p->path);
    free(path);
    /* The variable replaces the set's own address. */
    assert_int_equal(unlink(p->path), 0);
    setenv(p->set->environment, p->server.base, 1);
    assert_int_equal(fetch_get(p->set, p->file, NULL, NULL, &path, NULL, &err), STATUS_OK);
    unsetenv(p->set->environment);
    free(path);
    expect_content(p);
}

static void test_continues(void **state)
{
    struct place *p = *state;
    struct error err;
    write_part(p, content, 123456);
    assert_int_equal(get(p, content_sum, &err), STATUS_OK);
    expect_content(p);
    assert_int_equal(p->server.control->requests, 1);
    assert_int_equal(p->server.control->last_offset, 123456);
}

static void test_broken_connections(void **state)
{
    struct place *p = *state;
    struct error err;
    p->server.control->mode = HTTP_BREAK;
    p->server.control->after = 70000;
    assert_int_equal(get(p, NULL, &err), STATUS_OK); /* taken up again as long as something comes */
    expect_content(p);
    assert_int_equal(p->server.control->requests, 5);
    assert_int_equal(p->server.control->last_offset, 280000);
}

static void test_broken_for_good(void **state)
{
    struct place *p = *state;
    struct error err;
    write_part(p, content, 1000);
    p->server.control->mode = HTTP_BREAK;
    p->server.control->after = 0;
    assert_int_equal(get(p, NULL, &err), STATUS_FAILED);
    expect_text(&err, "what was received is kept");
    struct stat st;
    assert_int_equal(stat(p->part, &st), 0);
    assert_int_equal(st.st_size, 1000);
    assert_int_not_equal(access(p->path, F_OK), 0);
    p->server.control->mode = HTTP_SERVE;
    assert_int_equal(get(p, NULL, &err), STATUS_OK);
    expect_content(p);
    assert_int_equal(p->server.control->last_offset, 1000);
}

static void wait_for_size(const char *path, off_t size)
{
    struct stat st;
    for (int i = 0; i < 6000; i++) {
        if (stat(path, &st) == 0 && st.st_size >= size)
            return;
        poll(NULL, 0, 10);
    }
    fail_msg("%s never had %lld bytes", path, (long long)size);
}

/* A fetch in a process group of its own. */
static pid_t fetch_in_background(const struct place *p)
{
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        setpgid(0, 0);
        struct error err = {0};
        char *path;
        _exit(fetch_get(p->set, p->file, p->server.base, NULL, &path, NULL, &err) ? 1 : 0);
    }
    setpgid(pid, pid);
    return pid;
}

static void test_killed(void **state)
{
    struct place *p = *state;
    struct error err;
    p->server.control->mode = HTTP_STALL;
    p->server.control->after = 100000;
    pid_t pid = fetch_in_background(p);
    wait_for_size(p->part, 50000); /* curl keeps the last few kilobytes to itself */
    /* While it runs, and while only its curl does, nobody else touches the file. */
    assert_int_equal(get(p, NULL, &err), STATUS_FAILED);
    expect_text(&err, "another process is downloading");
    kill(pid, SIGKILL);
    int result;
    assert_int_equal(waitpid(pid, &result, 0), pid);
    assert_int_equal(get(p, NULL, &err), STATUS_FAILED);
    expect_text(&err, "another process is downloading");
    kill(-pid, SIGKILL); /* its curl */
    p->server.control->mode = HTTP_SERVE;
    int status = STATUS_FAILED;
    for (int i = 0; i < 6000 && status; i++) { /* until the kernel has closed what curl held */
        status = get(p, NULL, &err);
        if (status) {
            expect_text(&err, "another process is downloading");
            poll(NULL, 0, 10);
        }
    }
    assert_int_equal(status, STATUS_OK);
    expect_content(p);
    assert_in_range(p->server.control->last_offset, 50000, 100000);
}

static void test_no_ranges(void **state)
{
    struct place *p = *state;
    struct error err;
    write_part(p, "stale", 5);
    p->server.control->mode = HTTP_NO_RANGES;
    assert_int_equal(get(p, NULL, &err), STATUS_OK);
    expect_content(p);
}

static void test_complete_part(void **state)
{
    struct place *p = *state;
    struct error err;
    write_part(p, content, SIZE); /* ended between the last byte and the rename */
    assert_int_equal(get(p, NULL, &err), STATUS_OK);
    expect_content(p);
    assert_int_equal(p->server.control->requests, 1);
}

static void test_too_long_part(void **state)
{
    struct place *p = *state;
    struct error err;
    unsigned char *longer = memory_alloc(SIZE + 10, 1);
    for (int mute = 0; mute < 2; mute++) {
        write_part(p, longer, SIZE + 10);
        p->server.control->mode = mute ? HTTP_MUTE_416 : HTTP_SERVE;
        assert_int_equal(get(p, NULL, &err), STATUS_OK);
        expect_content(p);
        assert_int_equal(unlink(p->path), 0);
    }
    free(longer);
}

static void test_missing(void **state)
{
    struct place *p = *state;
    struct error err;
    p->server.control->mode = HTTP_MISSING;
    assert_int_equal(get(p, NULL, &err), STATUS_FAILED);
    expect_text(&err, "404");
    expect_text(&err, p->server.base);
    assert_int_not_equal(access(p->path, F_OK), 0);
}

static void test_no_server(void **state)
{
    struct place *p = *state;
    struct error err = {0};
    char *path;
    kill(p->server.pid, SIGKILL);
    waitpid(p->server.pid, NULL, 0);
    assert_int_equal(fetch_get(p->set, p->file, p->server.base, NULL, &path, NULL, &err), STATUS_FAILED);
    expect_text(&err, "curl: (7)");
}

static void test_checksums(void **state)
{
    struct place *p = *state;
    struct error err;
    char wrong[65], upper[65], *path;
    memset(wrong, 'a', 64);
    wrong[64] = '\0';
    assert_int_equal(get(p, "abc", &err), STATUS_BAD_INPUT);
    assert_int_equal(get(p, wrong, &err), STATUS_BAD_INPUT);
    expect_text(&err, wrong);
    expect_text(&err, content_sum);
    assert_int_not_equal(access(p->path, F_OK), 0);
    assert_int_not_equal(access(p->record, F_OK), 0);
    char *bad = memory_format("%s.bad", p->part);
    assert_int_equal(access(bad, F_OK), 0);
    free(bad);
    for (int i = 0; i < 65; i++)
        upper[i] = (char)(content_sum[i] >= 'a' && content_sum[i] <= 'f' ? content_sum[i] - 32 : content_sum[i]);
    assert_int_equal(get(p, upper, &err), STATUS_OK);
    expect_content(p);
    assert_int_equal(get(p, wrong, &err), STATUS_BAD_INPUT); /* also of a file that is there */
    /* Damage, later. */
    FILE *stream = fopen(p->path, "r+");
    assert_non_null(stream);
    assert_int_equal(fseek(stream, 1000, SEEK_SET), 0);
    fputc(content[1000] ^ 1, stream);
    fclose(stream);
    assert_int_equal(get(p, NULL, &err), STATUS_BAD_INPUT);
    expect_text(&err, "recorded when it was fetched");
    assert_int_equal(fetch_use(p->set, p->file, &path, &err), STATUS_BAD_INPUT);
    assert_null(path);
    assert_int_equal(file_write_all(p->record, "what\n", 5, NULL), STATUS_OK);
    assert_int_equal(fetch_use(p->set, p->file, &path, &err), STATUS_BAD_INPUT);
    expect_text(&err, p->record);
    assert_int_equal(unlink(p->record), 0);
    assert_int_equal(fetch_use(p->set, p->file, &path, &err), STATUS_BAD_INPUT);
    expect_text(&err, "no recorded SHA-256");
}

/* A page instead of the file is neither taken nor pinned, whatever it is called, and costs nothing that was there. */
static void test_portal(void **state)
{
    struct place *p = *state;
    struct error err;
    struct stat st;
    p->server.control->mode = HTTP_PORTAL;
    assert_int_equal(get(p, NULL, &err), STATUS_BAD_INPUT);
    expect_text(&err, "the server sends text/html");
    write_part(p, content, 1000);
    assert_int_equal(get(p, NULL, &err), STATUS_BAD_INPUT);
    assert_int_equal(stat(p->part, &st), 0);
    assert_int_equal(st.st_size, 1000);
    assert_int_equal(unlink(p->part), 0);
    p->server.control->mode = HTTP_SLY;
    assert_int_equal(get(p, NULL, &err), STATUS_BAD_INPUT);
    expect_text(&err, "got a page of 64 bytes that begins with <html");
    assert_int_not_equal(access(p->path, F_OK), 0);
    assert_int_not_equal(access(p->record, F_OK), 0);
    assert_int_not_equal(access(p->part, F_OK), 0);
    p->server.control->mode = HTTP_ASIDE;
    assert_int_equal(get(p, NULL, &err), STATUS_FAILED);
    expect_text(&err, "rotocol");
    p->server.control->mode = HTTP_SERVE;
    assert_int_equal(get(p, NULL, &err), STATUS_OK);
    expect_content(p);
}

/* A set's own address is held against what was published. */
static void test_published(void **state)
{
    struct place *p = *state;
    struct error err = {0};
    char *path;
    struct fetch_file file = *p->file;
    struct fetch_set set = *p->set;
    assert_int_equal(strlen(p->set->files[0].sha256), 64);
    assert_int_equal(strlen(p->set->files[1].sha256), 64);
    set.base = p->server.base;
    assert_int_equal(fetch_get(&set, &file, NULL, NULL, &path, NULL, &err), STATUS_BAD_INPUT);
    expect_text(&err, "want 22502601 bytes, got 300000");
    assert_int_not_equal(access(p->path, F_OK), 0);
    file.size = SIZE;
    assert_int_equal(fetch_get(&set, &file, NULL, NULL, &path, NULL, &err), STATUS_BAD_INPUT);
    expect_text(&err, "wrong SHA-256: want 6874bae9");
    p->server.control->mode = HTTP_ENDLESS; /* no more is taken than there should be, but for what is under way */
    assert_int_equal(fetch_get(&set, &file, NULL, NULL, &path, NULL, &err), STATUS_BAD_INPUT);
    expect_text(&err, "want at most 300000 bytes, got more");
    p->server.control->mode = HTTP_SERVE;
    file.sha256 = content_sum;
    assert_int_equal(fetch_get(&set, &file, NULL, NULL, &path, NULL, &err), STATUS_OK);
    free(path);
    expect_content(p);
}

/* What is asked of curl, by one that only writes it down. */
static void test_https_stays(void **state)
{
    struct place *p = *state;
    struct error err = {0};
    char *old = memory_string(getenv("PATH")), *path, *said = file_join(p->cache, "asked");
    static const char script[] = "#!/bin/sh\necho \"$@\" > \"${0%/*}/asked\"\nexit 60\n";
    free(data_file_write(p->cache, "curl", script, sizeof script - 1));
    char *program = file_join(p->cache, "curl"), *paths = memory_format("%s:%s", p->cache, old);
    assert_int_equal(chmod(program, 0755), 0);
    setenv("PATH", paths, 1);
    int status = fetch_get(p->set, p->file, "https://127.0.0.1:9/x", NULL, &path, NULL, &err);
    setenv("PATH", old, 1);
    assert_int_equal(status, STATUS_FAILED);
    size_t size;
    char *asked = (char *)data_file_read(said, &size);
    assert_non_null(strstr(asked, "--proto-redir =https --max-redirs 10"));
    free(asked);
    free(paths);
    free(program);
    free(said);
    free(old);
}

static void test_no_curl(void **state)
{
    struct place *p = *state;
    struct error err;
    char *old = memory_string(getenv("PATH"));
    setenv("PATH", p->cache, 1);
    int status = get(p, NULL, &err);
    setenv("PATH", old, 1);
    free(old);
    assert_int_equal(status, STATUS_FAILED);
    expect_text(&err, "curl command is not installed");
}

/* A limit on the size of files stands in for a full disk: the write fails in the same place. */
static void test_full_disk(void **state)
{
    struct place *p = *state;
    char *said = file_join(p->cache, "said");
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        struct rlimit limit = {100000, 100000};
        signal(SIGXFSZ, SIG_IGN);
        setrlimit(RLIMIT_FSIZE, &limit);
        struct error err = {0};
        char *path;
        int status = fetch_get(p->set, p->file, p->server.base, NULL, &path, NULL, &err);
        _exit(file_write_all(said, err.text, strlen(err.text), NULL) || status != STATUS_FAILED);
    }
    int result;
    assert_int_equal(waitpid(pid, &result, 0), pid);
    assert_true(WIFEXITED(result) && WEXITSTATUS(result) == 0);
    size_t size;
    char *text = (char *)data_file_read(said, &size);
    assert_non_null(strstr(text, "is the disk full?"));
    assert_int_not_equal(access(p->path, F_OK), 0);
    free(text);
    free(said);
    struct error err;
    assert_int_equal(get(p, NULL, &err), STATUS_OK); /* there is room again */
    expect_content(p);
}

static void test_directory(void **state)
{
    (void)state;
    const struct fetch_set *set = fetch_find("tinystories");
    char *home = memory_string(getenv("HOME") ? getenv("HOME") : "/"), *got;
    struct error err = {0};
    assert_null(fetch_find("tiny"));
    setenv("TAPER_CACHE", "/c", 1);
    setenv("XDG_CACHE_HOME", "/x", 1);
    setenv("HOME", "/h", 1);
    assert_int_equal(fetch_directory(set, &got, &err), STATUS_OK);
    assert_string_equal(got, "/c/tinystories");
    free(got);
    unsetenv("TAPER_CACHE");
    assert_int_equal(fetch_directory(set, &got, &err), STATUS_OK);
    assert_string_equal(got, "/x/taper/tinystories");
    free(got);
    setenv("XDG_CACHE_HOME", "", 1);
    assert_int_equal(fetch_directory(set, &got, &err), STATUS_OK);
    assert_string_equal(got, "/h/.cache/taper/tinystories");
    free(got);
    unsetenv("HOME");
    assert_int_equal(fetch_directory(set, &got, &err), STATUS_BAD_INPUT);
    setenv("HOME", home, 1);
    free(home);
}

int main(void)
{
    if (system("curl --version > /dev/null 2>&1") != 0) {
        printf("1..1\nok 1 - test_fetch # SKIP there is no curl command\n");
        return 0;
    }
    setenv("no_proxy", "127.0.0.1", 1);
    unsetenv("TAPER_TINYSTORIES_URL");
    uint64_t seed = 1;
    for (size_t i = 0; i < SIZE; i++)
        content[i] = (unsigned char)('a' + data_random(&seed, 26));
    unsigned char sum[crypto_hash_sha256_BYTES];
    crypto_hash_sha256(sum, content, SIZE);
    sodium_bin2hex(content_sum, sizeof content_sum, sum, sizeof sum);
#define WITH_SERVER(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        WITH_SERVER(test_plain),           WITH_SERVER(test_continues),      WITH_SERVER(test_broken_connections),
        WITH_SERVER(test_broken_for_good), WITH_SERVER(test_killed),         WITH_SERVER(test_no_ranges),
        WITH_SERVER(test_complete_part),   WITH_SERVER(test_too_long_part),  WITH_SERVER(test_missing),
        WITH_SERVER(test_no_server),       WITH_SERVER(test_checksums),      WITH_SERVER(test_no_curl),
        WITH_SERVER(test_portal),          WITH_SERVER(test_published),      WITH_SERVER(test_https_stays),
        WITH_SERVER(test_full_disk),       cmocka_unit_test(test_directory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
