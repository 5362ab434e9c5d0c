#include <dlfcn.h>
#include <stdio.h>

#include <jansson.h>

#include "harness/daemon/client.h"
#include "harness/verbs/commands.h"
#include "harness/base/format.h"
#include "harness/base/options.h"
#include "harness/daemon/daemon_engine.h"
#include "harness/queue/slots.h"

/* What a run on a GPU needs besides the driver; found as the run would find it. */
static json_t *missing_libraries(void)
{
    static const char *const names[] = {"libcuda.so.1", "libcublasLt.so.12", "libcudnn.so.9"};
    json_t *missing = json_array();
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        void *library = dlopen(names[i], RTLD_LAZY | RTLD_LOCAL);
        if (!library)
            json_array_append_new(missing, json_string(names[i]));
        else
            dlclose(library);
    }
    return missing;
}

/* The daemon's ledger, or what a daemon with the default options would have. */
static json_t *collect(const char *given)
{
    struct home home = {0};
    struct client *client = NULL;
    json_t *reply = NULL, *slots = NULL, *executor = NULL;
    if (home_init(&home, given, false, NULL) == STATUS_OK && client_open(&client, &home, NULL) == STATUS_OK && client &&
        client_ask(client, "live", NULL, &reply, NULL) == STATUS_OK)
        slots = json_incref(json_object_get(reply, "slots"));
    executor = json_incref(json_object_get(json_object_get(reply, "pools"), "executor"));
    if (json_is_null(slots)) /* its runs go elsewhere */
        slots = NULL;
    bool by_daemon = slots != NULL;
    client_close(client);
    json_decref(reply);
    home_fini(&home);
    if (!slots) {
        const struct slots_options options = engine_slots(&(struct engine_options){0}, ENGINE_GPU_BUSY);
        struct slots *s = slots_create(&options);
        slots = slots_to_json(s);
        slots_destroy(s);
    }
    json_object_set_new(slots, "daemon", json_boolean(by_daemon));
    json_object_set_new(slots, "missing", missing_libraries());
    json_object_set_new(slots, "executor", executor ? executor : json_null());
    return slots;
}

static double gibibytes(const json_t *row, const char *name)
{
    return json_number_value(json_object_get(row, name)) / 1073741824;
}

static long long integer(const json_t *row, const char *name)
{
    return (long long)json_integer_value(json_object_get(row, name));
}

static void print_gpu(const json_t *row)
{
    const char *aside = json_string_value(json_object_get(row, "aside"));
    char since[40];
    printf("  %lld  %s  %s%s  %.1f of %.1f GiB used, %.1f by others", integer(row, "index"),
           json_string_value(json_object_get(row, "id")), json_string_value(json_object_get(row, "name")),
           json_is_true(json_object_get(row, "mig")) ? " (part)" : "", gibibytes(row, "used"), gibibytes(row, "total"),
           gibibytes(row, "foreign"));
    if (integer(row, "promised"))
        printf(", %.1f promised", gibibytes(row, "promised"));
    printf("%s; %lld of %lld runs\n", json_is_true(json_object_get(row, "busy")) && !aside ? ", left alone" : "",
           integer(row, "taken"), integer(row, "runs"));
    if (aside)
        printf("      set aside since %s: %s\n", format_time(since, integer(row, "since")), aside);
}

static void print_gpus(const json_t *gpu)
{
    size_t i;
    const json_t *row;
    const char *why = json_string_value(json_object_get(gpu, "missing"));
    const char *driver = json_string_value(json_object_get(gpu, "driver"));
    printf("GPUs: %zu, slots: %lld", json_array_size(json_object_get(gpu, "devices")), integer(gpu, "slots"));
    if (driver && driver[0])
        printf(", driver %s", driver);
    putchar('\n');
    if (why && why[0])
        printf("  %s\n", why);
    for (i = 0; (row = json_array_get(json_object_get(gpu, "devices"), i)); i++)
        print_gpu(row);
    if (integer(gpu, "hidden"))
        printf("  %lld more are not ours to use (CUDA_VISIBLE_DEVICES, --slots)\n", integer(gpu, "hidden"));
}

static void print_text(const json_t *all)
{
    size_t i;
    const json_t *row, *cpu = json_object_get(all, "cpu"), *missing = json_object_get(all, "missing");
    printf("processors: %lld\n", (long long)json_integer_value(json_object_get(cpu, "processors")));
    for (i = 0; (row = json_array_get(json_object_get(cpu, "slots"), i)); i++)
        printf("  cpu:%lld  %lld threads on %s%s\n", (long long)json_integer_value(json_object_get(row, "slot")),
               (long long)json_integer_value(json_object_get(row, "threads")),
               json_string_value(json_object_get(row, "processors")),
               json_is_true(json_object_get(row, "used")) ? ", taken" : "");
    print_gpus(json_object_get(all, "gpu"));
    for (i = 0; (row = json_array_get(missing, i)); i++)
        printf("  missing for GPU runs: %s\n", json_string_value(row));
    const char *executor = json_string_value(json_object_get(all, "executor"));
    if (json_is_true(json_object_get(all, "daemon")))
        puts("as the daemon has them");
    else if (executor)
        printf("of no use to the daemon, which hands its runs to %s\n", executor);
    else
        puts("no daemon: what one would have without options");
}

static int devices_exec(int argc, char **argv, struct error *err)
{
    const char *given = NULL;
    bool as_json = false;
    const struct option_spec specs[] = {{.name = "home", .value = &given}, {.name = "json", .flag = &as_json}, {0}};
    int operands, status = options_parse(&cmd_devices, specs, argc, argv, &operands, err);
    if (!status && operands)
        status = command_usage(&cmd_devices, err, "takes no operands");
    if (status)
        return status;
    json_t *all = collect(given);
    if (as_json) {
        json_dumpf(all, stdout, JSON_INDENT(2));
        putchar('\n');
    } else {
        print_text(all);
    }
    json_decref(all);
    return STATUS_OK;
}

static const struct option_row devices_options[] = {
    {"json", 0, NULL, "the same as JSON"},
    OPTION_HOME,
    {0},
};

const struct command cmd_devices = {
    .name = "devices",
    .operands = "",
    .brief = "processors, GPUs, their slots, and what is missing",
    .about = "With a daemon: its slots, and which are taken.\n",
    .options = devices_options,
    .exec = devices_exec,
};
