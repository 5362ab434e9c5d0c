/* Processes told apart by pid, start time and boot. */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "harness/base/process.h"

static void identifies_itself(void **state)
{
    (void)state;
    struct process_id id;
    struct process_row row;
    assert_int_equal(process_identify(getpid(), &id, NULL), STATUS_OK);
    assert_int_equal(process_read(getpid(), &row), 0);
    assert_int_equal(row.parent, getppid());
    assert_int_equal(row.group, getpgrp());
    assert_int_equal(row.session, getsid(0));
    assert_true(id.start > 0 && strlen(id.boot) > 10);
    int fd = process_open(&id);
    assert_true(fd >= 0);
    assert_int_equal(process_signal(fd, 0), 0);
    close(fd);
}

static void another_life_of_a_pid_is_refused(void **state)
{
    (void)state;
    struct process_id id, other;
    assert_int_equal(process_identify(getpid(), &id, NULL), STATUS_OK);
    other = id;
    other.start--;
    assert_int_equal(process_open(&other), -1);
    other = id;
    other.boot[0] = other.boot[0] == '0' ? '1' : '0';
    assert_int_equal(process_open(&other), -1);
    other = id;
    other.pid = 0;
    assert_int_equal(process_open(&other), -1);
    other.pid = -1;
    assert_int_equal(process_open(&other), -1);
}

static void rows_are_signalled_only_when_they_match(void **state)
{
    (void)state;
    struct process_row row;
    int status;
    pid_t child = fork();
    if (child == 0)
        for (;;)
            pause();
    assert_int_equal(process_read(child, &row), 0);
    struct process_row older = row;
    older.start -= 1;
    assert_false(process_signal_row(&older, SIGKILL));
    assert_int_equal(waitpid(child, &status, WNOHANG), 0);
    assert_true(process_signal_row(&row, SIGKILL));
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    assert_false(process_signal_row(&row, SIGKILL));
    assert_int_equal(process_read(child, &row), -1);
    assert_int_equal(process_identify(child, &(struct process_id){0}, NULL), STATUS_FAILED);
}

static void *sleep_on(void *arg)
{
    char byte;
    while (read(*(int *)arg, &byte, 1) < 0)
        continue;
    _exit(0); /* a sanitizer's own thread would stay */
}

/* What /proc calls a zombie when its first thread has ended: the others still hold its files and locks. */
static void a_process_is_gone_with_its_last_thread(void **state)
{
    (void)state;
    struct process_row row;
    int ends[2], status;
    char path[64], text[512] = "";
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        pthread_t thread;
        close(ends[1]);
        pthread_create(&thread, NULL, sleep_on, &ends[0]);
        pthread_exit(NULL);
    }
    snprintf(path, sizeof path, "/proc/%d/stat", (int)child);
    for (int i = 0; i < 1000 && !strstr(text, ") Z "); i++) {
        FILE *in = fopen(path, "r");
        assert_non_null(in);
        assert_non_null(fgets(text, sizeof text, in));
        fclose(in);
        usleep(10000);
    }
    assert_non_null(strstr(text, ") Z "));
    assert_int_equal(process_read(child, &row), 0);
    assert_int_not_equal(row.state, 'Z');
    close(ends[1]);
    siginfo_t info;
    assert_int_equal(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), 0);
    assert_int_equal(process_read(child, &row), 0);
    assert_int_equal(row.state, 'Z');
    assert_int_equal(waitpid(child, &status, 0), child);
    close(ends[0]);
}

static void descendants_are_found_at_any_depth(void **state)
{
    (void)state;
    int ready[2], hold[2];
    char byte;
    assert_int_equal(pipe(ready) | pipe(hold), 0);
    pid_t child = fork();
    if (child == 0) {
        close(hold[1]);
        if (fork() == 0) {
            setsid();
            if (fork() == 0)
                setsid();
        }
        ssize_t wrote = write(ready[1], "x", 1);
        wrote += read(hold[0], &byte, 1);
        while (waitpid(-1, NULL, 0) > 0)
            continue;
        _exit(wrote < 0);
    }
    close(hold[0]);
    for (int i = 0; i < 3; i++)
        assert_int_equal(read(ready[0], &byte, 1), 1);
    size_t count, mine = 0;
    struct process_row *rows = process_descendants(getpid(), &count);
    for (size_t i = 0; i < count; i++)
        mine += rows[i].pid == child;
    assert_int_equal(count, 3);
    assert_int_equal(mine, 1);
    free(rows);
    close(hold[1]);
    waitpid(child, NULL, 0);
    close(ready[0]);
    close(ready[1]);
}

static void environments_are_read_whole_entries_only(void **state)
{
    (void)state;
    int out[2];
    char byte;
    char *const environment[] = {"A=1", "TOKEN=abc", "EMPTY=", NULL};
    char *const words[] = {"sh", "-c", "echo; read x", NULL};
    int in[2];
    assert_int_equal(pipe(out) | pipe(in), 0);
    pid_t child = fork();
    if (child == 0) {
        dup2(out[1], 1);
        dup2(in[0], 0);
        close(in[1]);
        execve("/bin/sh", words, environment);
        _exit(127);
    }
    close(in[0]);
    assert_int_equal(read(out[0], &byte, 1), 1);
    assert_true(process_has_environment(child, "TOKEN=abc"));
    assert_true(process_has_environment(child, "EMPTY="));
    assert_false(process_has_environment(child, "TOKEN=ab"));
    assert_false(process_has_environment(child, "TOKEN=abcd"));
    assert_false(process_has_environment(child, "OKEN=abc"));
    close(in[1]);
    waitpid(child, NULL, 0);
    assert_false(process_has_environment(child, "TOKEN=abc"));
    close(out[0]);
    close(out[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(identifies_itself),
                                       cmocka_unit_test(another_life_of_a_pid_is_refused),
                                       cmocka_unit_test(rows_are_signalled_only_when_they_match),
                                       cmocka_unit_test(descendants_are_found_at_any_depth),
                                       cmocka_unit_test(a_process_is_gone_with_its_last_thread),
                                       cmocka_unit_test(environments_are_read_whole_entries_only)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
