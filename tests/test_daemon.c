/* The real daemon under clients that misbehave, and beside other users of its database. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <sqlite3.h>
#include <uv.h>

#include "core/base/file.h"
#include "core/base/memory.h"
#include "harness/daemon/client.h"
#include "harness/daemon/daemon_server.h"
#include "harness/daemon/daemon_socket.h"
#include "harness/daemon/protocol.h"

static char folder[] = "/tmp/taper-d.XXXXXX";
static struct home home;
static pid_t daemon_process;

static int start_daemon(void **state)
{
    (void)state;
    int ends[2];
    char byte, *dir = mkdtemp(folder) ? file_join(folder, "home") : NULL;
    const char *program = getenv("TAPER");
    if (!dir || !program || pipe(ends) != 0 || home_init(&home, dir, true, NULL) != STATUS_OK)
        return -1;
    setenv("TAPER_HOME", dir, 1);
    char *cache = file_join(folder, "cache");
    setenv("TAPER_CACHE", cache, 1);
    free(cache);
    daemon_process = fork();
    if (daemon_process == 0) {
        dup2(ends[1], 2); /* its first line says that it serves */
        execl(program, "taper", "daemon", "--slots", "cpu:2", "--payload", "true", (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    free(dir);
    if (read(ends[0], &byte, 1) != 1)
        return -1;
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    struct client *client = NULL;
    for (int i = 0; i < 500 && !client; i++) {
        client_open(&client, &home, NULL);
        poll(NULL, 0, client ? 0 : 20);
    }
    client_close(client);
    return client ? 0 : -1;
}

static int stop_daemon(void **state)
{
    (void)state;
    int status;
    uint64_t begin = uv_hrtime();
    kill(daemon_process, SIGTERM);
    waitpid(daemon_process, &status, 0);
    bool slow = uv_hrtime() - begin > 5000000000u;
    char *command = memory_format("rm -rf '%s'", folder);
    int code = system(command);
    free(command);
    home_fini(&home);
    return code || slow || !WIFEXITED(status) || WEXITSTATUS(status) != 0;
}

static int dial(void)
{
    int absent, fd = daemon_socket_connect(&home, &absent, NULL);
    assert_true(fd >= 0);
    return fd;
}

static void say(int fd, const char *bytes, size_t size)
{
    while (size) {
        ssize_t n = send(fd, bytes, size, MSG_NOSIGNAL);
        if (n <= 0)
            return;
        bytes += n;
        size -= (size_t)n;
    }
}

/* One line within ten seconds; its length, 0 when the connection ended. */
static size_t hear(int fd, char *to, size_t room)
{
    size_t used = 0;
    struct pollfd ready = {fd, POLLIN, 0};
    while (used < room - 1 && poll(&ready, 1, 10000) == 1) {
        ssize_t n = recv(fd, to + used, 1, 0);
        if (n <= 0)
            break;
        if (to[used++] == '\n') {
            to[used] = '\0';
            return used;
        }
    }
    to[used] = '\0';
    return 0;
}

static void it_answers(void)
{
    struct client *client = NULL;
    json_t *reply = NULL;
    uint64_t begin = uv_hrtime();
    assert_int_equal(client_open(&client, &home, NULL), STATUS_OK);
    assert_non_null(client);
    assert_int_equal(client_ask(client, "ping", NULL, &reply, NULL), STATUS_OK);
    assert_int_equal(json_integer_value(json_object_get(reply, "pid")), daemon_process);
    json_decref(reply);
    client_close(client);
    assert_true(uv_hrtime() - begin < 5000000000u);
}

static void rubbish_is_answered(void **state)
{
    (void)state;
    char line[4096];
    int fd = dial();
    const char *const wrong[] = {"rubbish\n",
                                 "{}\n",
                                 "[]\n",
                                 "{\"v\":1,\"do\":\"fly\"}\n",
                                 "{\"v\":7,\"do\":\"ping\"}\n",
                                 "\xff\xfe\x01\n",
                                 "{\"v\":1,\"do\":\"cancel\"}\n",
                                 "{\"v\":1,\"do\":\"wait\"}\n",
                                 "{\"v\":1,\"do\":\"pause\",\"sweep\":7}\n",
                                 "{\"v\":1,\"do\":\"resume\",\"sweep\":[\"a\"]}\n",
                                 "{\"v\":1,\"do\":\"resume\",\"all\":\"yes\"}\n",
                                 "{\"v\":1,\"do\":\"stop\",\"kill\":1}\n",
                                 "{\"v\":1,\"do\":\"cancel\",\"what\":{}}\n",
                                 "{\"v\":1,\"do\":\"wait\",\"what\":\"nothing\"}\n",
                                 "{\"v\":1,\"do\":\"submit\",\"text\":\"a: [\",\"path\":\"x\",\"directory\":\"/\"}\n"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        say(fd, wrong[i], strlen(wrong[i]));
        assert_true(hear(fd, line, sizeof line) > 0);
        assert_non_null(strstr(line, "\"ok\":false"));
    }
    say(fd, "\n\r\n{\"v\":1,\"id\":[1],\"do\":\"ping\"}\r\n", 33);
    assert_true(hear(fd, line, sizeof line) > 0);
    assert_non_null(strstr(line, "\"id\":[1]"));
    assert_non_null(strstr(line, "\"ok\":true"));
    close(fd);
    it_answers();
}

static void an_endless_line_is_cut_off(void **state)
{
    (void)state;
    char line[4096], *bytes = memory_alloc(1 << 20, 1);
    int fd = dial();
    memset(bytes, 'x', 1 << 20);
    for (int i = 0; i < 6; i++)
        say(fd, bytes, 1 << 20);
    assert_true(hear(fd, line, sizeof line) > 0);
    assert_non_null(strstr(line, "longer"));
    assert_int_equal(hear(fd, line, sizeof line), 0);
    for (int i = 0; i < 80; i++) /* it is not listened to for ever */
        say(fd, bytes, 1 << 20);
    assert_int_equal(send(fd, bytes, 1, MSG_NOSIGNAL), -1);
    close(fd);
    free(bytes);
    it_answers();
}

/* A request that is too long by itself, from our own client: the daemon's words, not the system's. */
static void a_long_line_gets_its_error(void **state)
{
    (void)state;
    struct client *client = NULL;
    json_t *reply = NULL;
    struct error err = {0};
    char *text = memory_alloc(5 << 20, 1);
    memset(text, 'x', (5 << 20) - 1);
    assert_int_equal(client_open(&client, &home, NULL), STATUS_OK);
    json_t *body = json_pack("{s:s, s:s, s:s}", "text", text, "path", "x.yaml", "directory", "/");
    assert_int_equal(client_ask(client, "submit", body, &reply, &err), STATUS_BAD_INPUT);
    assert_non_null(strstr(err.text, "longer than"));
    client_close(client);
    free(text);
    it_answers();
}

static void clients_vanish(void **state)
{
    (void)state;
    const char *const parts[] = {"", "{\"v\":1,\"do\":", "{\"v\":1,\"do\":\"ping\"}\n{\"v\":1,\"do\":\"live\"}\n",
                                 "{\"v\":1,\"do\":\"wait\",\"what\":\"slow\"}\n"};
    for (int i = 0; i < 200; i++) {
        int fd = dial();
        say(fd, parts[i % 4], strlen(parts[i % 4]));
        if (i % 3 == 0) {
            struct linger now = {1, 0};
            setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
        }
        close(fd);
    }
    it_answers();
}

static void one_that_never_reads_holds_nobody_up(void **state)
{
    (void)state;
    char line[4096];
    int fd = dial(), sent = 0, heard = 0;
    const char *ask = "{\"v\":1,\"do\":\"live\"}\n";
    fcntl(fd, F_SETFL, O_NONBLOCK);
    for (int quiet = 0; quiet < 5 && sent < 1000000;) {
        ssize_t n = send(fd, ask, strlen(ask), MSG_NOSIGNAL);
        if (n == (ssize_t)strlen(ask)) {
            sent++;
            quiet = 0;
            continue;
        }
        if (n > 0) /* a part: finish it, so that lines stay lines */
            break;
        quiet++;
        it_answers();
        poll(NULL, 0, 10);
    }
    assert_true(sent > 100 && sent < 1000000); /* it stopped reading from us */
    it_answers();
    fcntl(fd, F_SETFL, 0);
    while (heard < sent && hear(fd, line, sizeof line))
        heard++;
    assert_int_equal(heard, sent); /* and everything is answered in the end */
    close(fd);
}

static void many_at_once(void **state)
{
    (void)state;
    enum { MANY = SERVER_CLIENTS_MOST + 20 };
    static int fds[MANY];
    int refused = 0, served = 0;
    char line[4096];
    for (int i = 0; i < MANY; i++)
        fds[i] = dial();
    for (int i = 0; i < MANY; i++) {
        say(fds[i], "{\"v\":1,\"do\":\"ping\"}\n", 20);
        size_t n = hear(fds[i], line, sizeof line);
        if (n && strstr(line, "\"ok\":true"))
            served++;
        else
            refused += n == 0 || strstr(line, "too many") != NULL;
    }
    for (int i = 0; i < MANY; i++)
        close(fds[i]);
    assert_int_equal(served, SERVER_CLIENTS_MOST);
    assert_int_equal(refused, 20);
    poll(NULL, 0, 50);
    it_answers();
}

static void other_users_are_not_served(void **state)
{
    (void)state;
    if (geteuid() != 0)
        skip();
    pid_t child = fork();
    if (child == 0) {
        int absent;
        struct error err = {0};
        if (chmod(folder, 0777) != 0 || chmod(home.dir, 0777) != 0 || setresuid(65534, 65534, 65534) != 0)
            _exit(2);
        bool refused = daemon_socket_connect(&home, &absent, &err) < 0 && !absent;
        _exit(refused && strstr(err.text, "serves user 0 and root, not user 65534") ? 0 : 1);
    }
    int status;
    waitpid(child, &status, 0);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    /* Even where the socket is opened to it. */
    assert_int_equal(chmod(home.socket, 0666), 0);
    child = fork();
    if (child == 0) {
        char line[4096];
        int absent, fd = setresuid(65534, 65534, 65534) ? -1 : daemon_socket_connect(&home, &absent, NULL);
        _exit(fd >= 0 && hear(fd, line, sizeof line) && strstr(line, "not user 65534") ? 0 : 1);
    }
    waitpid(child, &status, 0);
    assert_int_equal(chmod(home.socket, 0600), 0);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* ----------------------------------------------------------------------------------------- what clients name */

enum { PINGS_MOST = 4000, SPARSE_GIB = 1 };

/* A sweep whose corpus is the file, asked for; the reply is to be heard later. */
static int ask_with_corpus(const char *corpus)
{
    char *text = memory_format("sweep: big\nbase: {model.size: demo, data.corpus: \"%s\", data.valid: \"%s\"}\n",
                               corpus, corpus);
    char *line =
        protocol_request("submit", json_pack("{s:s, s:s, s:s}", "text", text, "path", "big.yaml", "directory", "/"));
    int fd = dial();
    say(fd, line, strlen(line));
    free(text);
    free(line);
    return fd;
}

static int by_size(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* How long pings take until `fd` has a reply, ascending; returns their count. */
static int ping_meanwhile(int fd, uint64_t *took)
{
    struct client *client = NULL;
    struct pollfd ready = {fd, POLLIN, 0};
    int n = 0;
    assert_int_equal(client_open(&client, &home, NULL), STATUS_OK);
    while (n < PINGS_MOST && poll(&ready, 1, 5) == 0) {
        json_t *reply = NULL;
        uint64_t begin = uv_hrtime();
        assert_int_equal(client_ask(client, "ping", NULL, &reply, NULL), STATUS_OK);
        json_decref(reply);
        took[n++] = uv_hrtime() - begin;
    }
    client_close(client);
    qsort(took, (size_t)n, sizeof *took, by_size);
    return n;
}

static void a_big_corpus_holds_nobody_up(void **state)
{
    (void)state;
    static uint64_t took[PINGS_MOST];
    char line[4096], *path = file_join(folder, "big.txt");
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    for (int i = 0; i < 8192; i++)
        fputc('x', out);
    assert_int_equal(ftruncate(fileno(out), (off_t)SPARSE_GIB << 30), 0);
    fclose(out);
    int fd = ask_with_corpus(path);
    int n = ping_meanwhile(fd, took);
    assert_true(n > 20); /* it took a while, and was not waited for */
    assert_true(took[n * 95 / 100] < 50000000u);
    assert_true(took[n - 1] < 1000000000u); /* of a machine that does other things, too */
    assert_true(hear(fd, line, sizeof line) > 0);
    assert_non_null(strstr(line, "\"fresh\":1"));
    close(fd);
    unlink(path);
    free(path);
}

/* Its clients leave before the answer, and so does the daemon: the last test, whose reading is under way when the
 * daemon is stopped. */
static void nobody_waits_for_what_is_read(void **state)
{
    (void)state;
    char *path = file_join(folder, "left.txt");
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    for (int i = 0; i < 8192; i++)
        fputc('x', out);
    assert_int_equal(ftruncate(fileno(out), (off_t)64 << 30), 0);
    fclose(out);
    for (int i = 0; i < 8; i++)
        close(ask_with_corpus(path));
    it_answers();
    free(path);
}

static void what_is_no_file_is_refused(void **state)
{
    (void)state;
    char line[4096], *fifo = file_join(folder, "fifo");
    assert_int_equal(mkfifo(fifo, 0600), 0);
    const char *const paths[] = {fifo, "/dev/zero", home.socket}, *const words[] = {"a FIFO", "a device", "a socket"};
    for (int i = 0; i < 3; i++) {
        int fd = ask_with_corpus(paths[i]);
        assert_true(hear(fd, line, sizeof line) > 0);
        assert_non_null(strstr(line, "\"ok\":false"));
        assert_non_null(strstr(line, "want a regular file, got"));
        assert_non_null(strstr(line, words[i]));
        assert_non_null(strstr(line, paths[i]));
        close(fd);
    }
    unlink(fifo);
    free(fifo);
    it_answers();
}

/* ------------------------------------------------------------------------------- beside others on the database */

static json_t *sweep(const char *name, int steps)
{
    char *text =
        memory_format("sweep: %s\nbase: {model.size: demo, model.d_model: 16, model.layers: 1, model.heads: 1, "
                      "model.context: 16, model.vocab: 300, data.size: 20000, train.steps: %d}\n"
                      "grid: {seed: {range: [0, 9]}}\n",
                      name, steps);
    json_t *body = json_pack("{s:s, s:s, s:s}", "text", text, "path", "sweep.yaml", "directory", "/");
    free(text);
    return body;
}

static void done_in_time(const char *name, int steps)
{
    struct client *client = NULL;
    json_t *reply = NULL;
    struct error err = {0};
    assert_int_equal(client_open(&client, &home, NULL), STATUS_OK);
    int status = client_ask(client, "submit", sweep(name, steps), &reply, &err);
    if (status)
        print_error("submit: %s\n", err.text);
    assert_int_equal(status, STATUS_OK);
    assert_int_equal(json_integer_value(json_object_get(reply, "fresh")), 10);
    json_decref(reply);
    assert_int_equal(client_ask(client, "wait", json_pack("{s:s}", "what", name), &reply, NULL), STATUS_OK);
    assert_true(json_is_true(json_object_get(reply, "done")));
    json_decref(reply);
    client_close(client);
}

static void a_long_reader_stops_nothing(void **state)
{
    (void)state;
    sqlite3 *db;
    sqlite3_stmt *rows;
    assert_int_equal(sqlite3_open_v2(home.database, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "BEGIN", NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, "SELECT count(*) FROM run", -1, &rows, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(rows), SQLITE_ROW);
    int before = sqlite3_column_int(rows, 0);
    sqlite3_reset(rows);
    done_in_time("read", 60);
    assert_int_equal(sqlite3_step(rows), SQLITE_ROW);
    assert_int_equal(sqlite3_column_int(rows, 0), before); /* it still sees its snapshot */
    sqlite3_finalize(rows);
    sqlite3_close(db);
}

static void a_foreign_writer_only_delays(void **state)
{
    (void)state;
    sqlite3 *db;
    assert_int_equal(sqlite3_open(home.database, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
    pid_t child = fork(); /* submits meanwhile; a connection is not carried over, so it makes its own */
    if (child == 0) {
        struct client *client = NULL;
        json_t *reply = NULL;
        if (client_open(&client, &home, NULL) != STATUS_OK || !client)
            _exit(2);
        _exit(client_ask(client, "submit", sweep("write", 61), &reply, NULL) == STATUS_OK ? 0 : 1);
    }
    uint64_t begin = uv_hrtime();
    while (uv_hrtime() - begin < 3000000000u) {
        it_answers();
        poll(NULL, 0, 100);
    }
    int status;
    assert_int_equal(waitpid(child, &status, WNOHANG), 0); /* it waits */
    assert_int_equal(sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    done_in_time("write2", 62);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(rubbish_is_answered),
                                       cmocka_unit_test(an_endless_line_is_cut_off),
                                       cmocka_unit_test(a_long_line_gets_its_error),
                                       cmocka_unit_test(a_big_corpus_holds_nobody_up),
                                       cmocka_unit_test(what_is_no_file_is_refused),
                                       cmocka_unit_test(clients_vanish),
                                       cmocka_unit_test(one_that_never_reads_holds_nobody_up),
                                       cmocka_unit_test(many_at_once),
                                       cmocka_unit_test(other_users_are_not_served),
                                       cmocka_unit_test(a_long_reader_stops_nothing),
                                       cmocka_unit_test(a_foreign_writer_only_delays),
                                       cmocka_unit_test(nobody_waits_for_what_is_read)};
    return cmocka_run_group_tests(tests, start_daemon, stop_daemon);
}
