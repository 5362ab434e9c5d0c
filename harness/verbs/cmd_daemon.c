#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <jansson.h>

#include "harness/daemon/client.h"
#include "harness/verbs/commands.h"
#include "harness/daemon/daemon.h"
#include "harness/base/process.h"
#include "harness/page/page.h"

/* The child of --detach: tell the one that waits how the start went, then serve on. */
static void serve_detached(struct daemon_options *options, int ready)
{
    struct error err = {0};
    int null = open("/dev/null", O_RDWR);
    setsid();
    for (int fd = 0; fd < 3 && null >= 0; fd++)
        dup2(null, fd);
    if (null > 2)
        close(null);
    options->ready = ready;
    int status = daemon_run(options, &err);
    if (status && write(ready, err.text, strlen(err.text)) < 0)
        _exit(1); /* nobody listens any more: the log has it */
    _exit(error_exit_code(status));
}

static int detach(struct daemon_options *options, struct error *err)
{
    int ends[2];
    char text[sizeof err->text];
    size_t used = 0;
    ssize_t n;
    if (pipe2(ends, O_CLOEXEC) != 0)
        return error_errno(err, STATUS_FAILED, errno, "cannot make a pipe");
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        if (chdir("/") != 0)
            _exit(1);
        serve_detached(options, ends[1]);
    }
    close(ends[1]);
    if (child < 0) {
        close(ends[0]);
        return error_errno(err, STATUS_FAILED, errno, "cannot fork");
    }
    while (used < sizeof text - 1 && ((n = read(ends[0], text + used, sizeof text - 1 - used)) > 0 || errno == EINTR)) {
        used += n > 0 ? (size_t)n : 0;
        if (n == 0 || (used && text[0] == '\n'))
            break;
    }
    close(ends[0]);
    text[used] = '\0';
    if (used && text[0] == '\n') {
        printf("daemon started, process %d: %s", (int)child, text + 1);
        return STATUS_OK;
    }
    int code = 0;
    waitpid(child, &code, 0);
    return error_set(err, WIFEXITED(code) && WEXITSTATUS(code) == 2 ? STATUS_BAD_INPUT : STATUS_FAILED, "%s",
                     used ? text : "the daemon ended at once; see daemon.log");
}

/* Until the process is gone, and with it its lock. */
static void wait_gone(const struct process_id *id)
{
    int fd = process_open(id);
    struct pollfd gone = {fd, POLLIN, 0};
    while (fd >= 0 && poll(&gone, 1, -1) < 0 && errno == EINTR)
        continue;
    if (fd >= 0)
        close(fd);
}

static int stop(const char *home_given, bool workers, bool kill, struct error *err)
{
    struct home home = {0};
    struct client *client = NULL;
    struct process_id id = {0};
    json_t *reply = NULL;
    int status = home_init(&home, home_given, false, err);
    if (!status)
        status = client_open(&client, &home, err);
    if (!status && !client)
        status = error_set(err, STATUS_FAILED, "no daemon serves %s", home.dir);
    if (!status)
        status = client_ask(client, "ping", NULL, &reply, err);
    if (!status)
        status = process_identify((pid_t)json_integer_value(json_object_get(reply, "pid")), &id, err);
    json_decref(reply);
    reply = NULL;
    if (!status)
        status = client_ask(client, "stop", json_pack("{s:b, s:b}", "workers", (int)workers, "kill", (int)kill), &reply,
                            err);
    if (!status) {
        long long live = json_integer_value(json_object_get(reply, "live"));
        wait_gone(&id);
        printf("daemon stopped, %lld workers %s\n", live, workers || kill ? "ended" : "go on");
    }
    json_decref(reply);
    client_close(client);
    home_fini(&home);
    return status;
}

static int begin_page(const struct home *home, const char *given, void **beside, const char **link, const char **where,
                      struct error *err)
{
    struct page *page = NULL;
    int status = page_start(&page, home, given, err);
    if (status)
        return status;
    *beside = page;
    *link = page_link(page);
    *where = page_url(page);
    return STATUS_OK;
}

static void end_page(void *page)
{
    page_stop(page);
}

static int daemon_exec(int argc, char **argv, struct error *err)
{
    struct daemon_options options = {.ready = -1, .echo = true};
    bool want_detach = false, want_stop = false, workers = false, kill = false;
    struct option_spec specs[ENGINE_OPTIONS + 7] = {{0}};
    int n = engine_option_specs(&options.engine, specs), operands;
    specs[n++] = (struct option_spec){.name = "home", .value = &options.home};
    specs[n++] = (struct option_spec){.name = "detach", .flag = &want_detach};
    specs[n++] = (struct option_spec){.name = "stop", .flag = &want_stop};
    specs[n++] = (struct option_spec){.name = "workers", .flag = &workers};
    specs[n++] = (struct option_spec){.name = "kill", .flag = &kill};
    specs[n++] = (struct option_spec){.name = "http", .value = &options.given};
    int status = options_parse(&cmd_daemon, specs, argc, argv, &operands, err);
    if (!status && operands)
        status = command_usage(&cmd_daemon, err, "takes no operands");
    if (!status && (workers || kill) && !want_stop)
        status = command_usage(&cmd_daemon, err, "--workers and --kill go with --stop");
    if (status)
        return status;
    if (want_stop)
        return stop(options.home, workers, kill, err);
    if (options.given) {
        options.begin = begin_page;
        options.end = end_page;
    }
    if (!want_detach)
        return daemon_run(&options, err);
    status = engine_check_descriptors(err);
    if (status)
        return status;
    options.echo = false;
    struct home home = {0}; /* made absolute before the directory changes */
    status = home_init(&home, options.home, true, err);
    if (!status)
        home_announce(&home);
    options.home = home.dir;
    char *payload = options.engine.payload ? realpath(options.engine.payload, NULL) : NULL;
    if (payload)
        options.engine.payload = payload;
    if (!status)
        status = detach(&options, err);
    free(payload);
    home_fini(&home);
    return status;
}

static const struct option_row daemon_options[] = {
    OPTION_HOME,
    {"detach", 'd', NULL, "go into the background once it serves"},
    {"stop", 0, NULL, "stop the home's daemon and wait until it is gone; workers go on"},
    {"workers", 0, NULL, "with --stop: have the workers checkpoint and end too"},
    {"kill", 0, NULL, "with --stop: kill the workers"},
    {"http", 0, "[ADDR:PORT]", "show the home in a browser too (default 127.0.0.1:8787); taper help serve says more"},
    ENGINE_ROWS,
    {0},
};

const struct command cmd_daemon = {
    .name = "daemon",
    .operands = "",
    .brief = "run the queue of a home, and answer for it",
    .about = "Stays in the foreground and logs to standard error and HOME/daemon.log. Ended by TERM or INT, or "
             "killed, it leaves\n"
             "its workers running; the next daemon takes them over.\n",
    .options = daemon_options,
    .exec = daemon_exec,
};
