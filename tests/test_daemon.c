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
    kill(daemon_process, SIGTERM);
    waitpid(daemon_process, &status, 0);
    char *command = memory_format("rm -rf '%s'", folder);
    int code = system(command);
    free(command);
    home_fini(&home);
    return code || !WIFEXITED(status) || WEXITSTATUS(status) != 0;
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
    if (hear(fd, line, sizeof line)) /* the reply may be lost with the connection, since it was not all read */
        assert_non_null(strstr(line, "longer"));
    assert_int_equal(hear(fd, line, sizeof line), 0);
    close(fd);
    free(bytes);
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
        if (chmod(folder, 0777) != 0 || chmod(home.dir, 0777) != 0 || setresuid(65534, 65534, 65534) != 0)
            _exit(2);
        _exit(daemon_socket_connect(&home, &absent, NULL) < 0 && !absent ? 0 : 1);
    }
    int status;
    waitpid(child, &status, 0);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
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
                                       cmocka_unit_test(clients_vanish),
                                       cmocka_unit_test(one_that_never_reads_holds_nobody_up),
                                       cmocka_unit_test(many_at_once),
                                       cmocka_unit_test(other_users_are_not_served),
                                       cmocka_unit_test(a_long_reader_stops_nothing),
                                       cmocka_unit_test(a_foreign_writer_only_delays)};
    return cmocka_run_group_tests(tests, start_daemon, stop_daemon);
}
