#include <stdio.h>

#include <jansson.h>

#include "core/ops/gpu_load.h"
#include "harness/daemon/client.h"
#include "harness/verbs/commands.h"
#include "harness/base/format.h"
#include "harness/base/options.h"
#include "harness/daemon/daemon_engine.h"
#include "harness/queue/slots.h"
#include "harness/store/store_device.h"

/* Why a run on a GPU could not load its backend: the library's own word. "" when it could. */
static json_t *backend_missing(void)
{
    const struct gpu_library *library;
    struct error err = {0};
    return json_string(gpu_load(&library, &err) ? err.text : "");
}

static void set_aside(void *arg, const char *device, const char *why, int64_t since)
{
    slots_set_aside(arg, device, why, since);
}

/* What a daemon with the default options would have. */
static json_t *without_daemon(const struct home *home)
{
    const struct slots_options options = engine_slots(&(struct engine_options){0}, ENGINE_GPU_BUSY);
    struct slots *s = slots_create(&options);
    struct store *store = NULL;
    if (home->dir && store_open(&store, home, STORE_READ, NULL) == STATUS_OK)
        store_devices_aside(store, set_aside, s, NULL);
    store_close(store);
    json_t *json = slots_to_json(s);
    slots_destroy(s);
    return json;
}

/* The daemon's ledger, or what a daemon with the default options would have; there need be no home yet. */
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
    if (!slots)
        slots = without_daemon(&home);
    home_fini(&home);
    json_object_set_new(slots, "daemon", json_boolean(by_daemon));
    json_object_set_new(slots, "missing", backend_missing());
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
    const json_t *row, *cpu = json_object_get(all, "cpu");
    const char *missing = json_string_value(json_object_get(all, "missing"));
    printf("processors: %lld\n", (long long)json_integer_value(json_object_get(cpu, "processors")));
    for (i = 0; (row = json_array_get(json_object_get(cpu, "slots"), i)); i++)
        printf("  cpu:%lld  %lld threads on %s%s\n", (long long)json_integer_value(json_object_get(row, "slot")),
               (long long)json_integer_value(json_object_get(row, "threads")),
               json_string_value(json_object_get(row, "processors")),
               json_is_true(json_object_get(row, "used")) ? ", taken" : "");
    print_gpus(json_object_get(all, "gpu"));
    const char *executor = json_string_value(json_object_get(all, "executor"));
    if (missing && missing[0])
        printf("  no run on a GPU can start: %s\n", missing);
    if (json_is_true(json_object_get(all, "daemon")))
        puts("as the daemon has them");
    else if (executor)
        printf("of no use to the daemon, which hands its runs to %s\n", executor);
    else
        puts("no daemon: what one would have without options");
}

/* all is taken. */
static void print(json_t *all, bool as_json, void (*as_text)(const json_t *all))
{
    if (as_json) {
        json_dumpf(all, stdout, JSON_INDENT(2));
        putchar('\n');
    } else {
        as_text(all);
    }
    json_decref(all);
}

static void print_used(const json_t *reply)
{
    printf("%s: taken back\n", json_string_value(json_object_get(reply, "device")));
}

static int use(const char *given, const char *device, bool as_json, struct error *err)
{
    struct home home = {0};
    json_t *reply = NULL;
    int status = home_init(&home, given, false, err);
    if (!status)
        status = client_ask_home(&home, "use", json_pack("{s:s}", "device", device), &reply, NULL, err);
    home_fini(&home);
    if (!status)
        print(reply, as_json, print_used);
    return status;
}

static int devices_exec(int argc, char **argv, struct error *err)
{
    const char *given = NULL, *device = NULL;
    bool as_json = false;
    const struct option_spec specs[] = {
        {.name = "home", .value = &given}, {.name = "json", .flag = &as_json}, {.name = "use", .value = &device}, {0}};
    int operands, status = options_parse(&cmd_devices, specs, argc, argv, &operands, err);
    if (!status && operands)
        status = command_usage(&cmd_devices, err, "takes no operands");
    if (!status && device)
        status = use(given, device, as_json, err);
    else if (!status)
        print(collect(given), as_json, print_text);
    return status;
}

static const struct option_row devices_options[] = {
    {"use", 0, "DEVICE", "take back a GPU that was set aside, by its id or the start of it"},
    {"json", 0, NULL, "the same as JSON"},
    OPTION_HOME,
    {0},
};

const struct command cmd_devices = {
    .name = "devices",
    .operands = "",
    .brief = "processors, GPUs, their slots, and what is missing",
    .about =
        "With a daemon: its slots, and which are taken. A GPU on which several runs in a row failed at once gets no\n"
        "more of them (daemon --gpu-aside) until it is taken back with --use.\n",
    .options = devices_options,
    .exec = devices_exec,
};
