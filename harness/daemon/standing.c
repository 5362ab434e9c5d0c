#include "harness/daemon/standing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/memory.h"
#include "core/base/rundir.h"
#include "harness/daemon/client.h"
#include "harness/queue/waiting.h"

/* What the daemon says of itself; null when none answers. */
static json_t *ask_daemon(const struct home *home)
{
    struct client *client = NULL;
    json_t *reply = NULL;
    if (home->alone || client_open(&client, home, NULL) != STATUS_OK || !client)
        return json_null();
    if (client_ask(client, "ping", NULL, &reply, NULL) != STATUS_OK)
        reply = json_null();
    client_close(client);
    const char *const envelope[] = {"v", "id", "ok"};
    for (size_t i = 0; i < sizeof envelope / sizeof envelope[0]; i++)
        json_object_del(reply, envelope[i]);
    return reply;
}

int standing_collect(struct store *store, const struct home *home, const char *sweep, json_t **out, struct error *err)
{
    int status = status_collect(store, home, sweep, out, err);
    if (status)
        return status;
    json_t *waiting = NULL, *daemon = ask_daemon(home);
    const json_t *pools = json_object_get(daemon, "pools");
    json_object_set_new(*out, "daemon", daemon);
    status = waiting_collect(store, sweep, pools, store_now(), &waiting, err);
    if (!status && !json_is_object(daemon) && !store_is_held(home))
        waiting_drop_startable(waiting);
    json_object_set_new(*out, "waiting", waiting);
    if (status) {
        json_decref(*out);
        *out = NULL;
    }
    return status;
}

/* An attempt's batch script has the line by which it was submitted. */
static void add_batch(json_t *all, const char *dir)
{
    size_t i;
    json_t *attempt;
    for (i = 0; (attempt = json_array_get(json_object_get(all, "attempts"), i)); i++) {
        char line[4096],
            *name = memory_format(RUNDIR_BATCH, (int)json_integer_value(json_object_get(attempt, "attempt")));
        char *path = file_join(dir, name);
        FILE *in = fopen(path, "re");
        while (in && fgets(line, sizeof line, in)) {
            line[strcspn(line, "\n")] = '\0';
            if (strncmp(line, "#   sbatch ", 11) != 0)
                continue;
            json_t *text = json_string(line + 4);
            json_object_set_new(attempt, "submitted_as", text ? text : json_string("(not UTF-8)"));
            break;
        }
        if (in)
            fclose(in);
        free(path);
        free(name);
    }
}

int standing_run(struct store *store, const struct home *home, const char *id, json_t **out, struct error *err)
{
    int status = status_run(store, id, out, err);
    if (status)
        return status;
    char *dir = home_run_dir(home, id);
    add_batch(*out, dir);
    free(dir);
    return STATUS_OK;
}
