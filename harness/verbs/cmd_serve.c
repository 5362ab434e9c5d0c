#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "harness/base/options.h"
#include "harness/page/page.h"
#include "harness/store/store.h"
#include "harness/verbs/commands.h"

/* Until somebody ends it. */
static void wait_signal(const sigset_t *set)
{
    int number;
    while (sigwait(set, &number) != 0)
        continue;
}

static int serve(const struct home *home, const char *address, struct error *err)
{
    struct page *page = NULL;
    struct store *store = NULL;
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigprocmask(SIG_BLOCK, &set, NULL);
    int status = store_open(&store, home, STORE_READ, err); /* what is wrong with it is said here, not on a page */
    store_close(store);
    if (!status)
        status = page_start(&page, home, address, err);
    if (status)
        return status;
    printf("%s\n", page_link(page));
    fflush(stdout);
    wait_signal(&set);
    page_stop(page);
    return STATUS_OK;
}

static int serve_exec(int argc, char **argv, struct error *err)
{
    const char *given = NULL, *address = NULL;
    const struct option_spec specs[] = {{.name = "home", .value = &given}, {.name = "http", .value = &address}, {0}};
    struct home home = {0};
    int operands, status = options_parse(&cmd_serve, specs, argc, argv, &operands, err);
    if (!status && operands)
        status = command_usage(&cmd_serve, err, "takes no operand, got '%s'", argv[1]);
    if (!status)
        status = home_init_reader(&home, given, err);
    if (!status)
        status = serve(&home, address, err);
    home_fini(&home);
    return status;
}

static const struct option_row serve_options[] = {
    {"http", 0, "ADDR:PORT", "where (default 127.0.0.1:8787); port 0 takes any that is free"},
    OPTION_HOME_READER,
    {0},
};

const struct command cmd_serve = {
    .name = "serve",
    .operands = "",
    .brief = "show a home, or a database file, in a browser",
    .about = "Prints the page's address and serves it until interrupted; it only reads. An address that others can "
             "reach takes\n"
             "the link that is printed, which holds a token. 'taper daemon --http' serves the same of its own home.\n",
    .options = serve_options,
    .exec = serve_exec,
};
