/* What make gpu-check and make gpu-bench run:
 *   gpu_tool check [--tiny [--steps]] [--json FILE]      --steps: whole steps alone, and decoding
 *   gpu_tool bench [--tiny | --brief] [--json FILE [--append]]
 *   gpu_tool row NAME ok|failed|skipped --json FILE      a row of somebody else's finding, appended
 * Where there is no GPU it says 'skipped: no device' and exits with 0; a GPU that cannot be used is a failure. */
#include <string.h>
#include <unistd.h>

#include "core/ops/gpu_load.h"
#include "core/base/parallel.h"
#include "tests/gpu/tool/tool.h"

struct words {
    const char *verb, *json, *name, *finding;
    bool tiny, steps, brief, append;
};

static int usage(void)
{
    fprintf(stderr, "usage: gpu_tool check [--tiny [--steps]] [--json FILE]\n"
                    "       gpu_tool bench [--tiny | --brief] [--json FILE [--append]]\n"
                    "       gpu_tool row NAME ok|failed|skipped --json FILE\n");
    return 2;
}

static bool parse(struct words *w, int argc, char **argv)
{
    int i = 2;
    w->verb = argc > 1 ? argv[1] : "";
    if (strcmp(w->verb, "row") == 0 && argc > 3) {
        w->name = argv[2];
        w->finding = argv[3];
        w->append = true;
        i = 4;
    }
    for (; i < argc; i++)
        if (strcmp(argv[i], "--tiny") == 0)
            w->tiny = true;
        else if (strcmp(argv[i], "--steps") == 0)
            w->steps = true;
        else if (strcmp(argv[i], "--brief") == 0)
            w->brief = true;
        else if (strcmp(argv[i], "--append") == 0)
            w->append = true;
        else if (strcmp(argv[i], "--json") == 0 && i + 1 < argc)
            w->json = argv[++i];
        else
            return false;
    return w->name ? w->json != NULL : strcmp(w->verb, "check") == 0 || strcmp(w->verb, "bench") == 0;
}

/* Rows are written as they come; what a file said before stays in it when rows are appended. */
static int open_report(struct tool_report *r, const struct words *w, FILE *out)
{
    struct error err = {0};
    report_open(r, out);
    if (w->append && w->json && report_resume(r, w->json, &err)) {
        fprintf(stderr, "gpu_tool: %s\n", err.text);
        return 1;
    }
    r->path = w->json;
    return 0;
}

static int close_report(struct tool_report *r)
{
    int failed = r->failed;
    report_close(r);
    return failed ? 1 : 0;
}

static int add_row(const struct words *w, const char *device, const char *build)
{
    struct tool_report r;
    if (open_report(&r, w, stdout))
        return 1;
    r.device = device;
    r.build = build;
    if (strcmp(w->finding, "ok") == 0)
        report_check(&r, 0, 0, "%s", w->name);
    else if (strcmp(w->finding, "skipped") == 0)
        report_number(&r, 0, "skipped", "%s", w->name);
    else
        report_fault(&r, w->finding, "%s", w->name);
    return close_report(&r);
}

static int run(const struct words *w, const struct gpu_library *library, const struct gpu_device *gpu)
{
    struct tool_report report;
    const struct check_options options = {.tiny = w->tiny, .steps = w->steps, .threads = parallel_processors()};
    if (open_report(&report, w, stdout))
        return 1;
    report.device = gpu->name;
    report.build = library->build;
    printf("%s, %s\n", gpu->name, library->build);
    if (strcmp(w->verb, "check") == 0)
        check_run(&report, library->ops, &options);
    if (w->steps || strcmp(w->verb, "bench") == 0)
        bench_run(&report, library->ops, w->tiny ? BENCH_TINY : w->brief ? BENCH_BRIEF : BENCH_ALL);
    printf("%d rows, %d failed\n", (int)json_array_size(report.rows), report.failed);
    return close_report(&report);
}

/* A driver without a usable GPU is something to repair, not something to pass over. */
static bool driver_is_there(void)
{
    return access("/dev/nvidiactl", F_OK) == 0 || access("/dev/nvidia0", F_OK) == 0 ||
           access("/proc/driver/nvidia/version", F_OK) == 0;
}

int main(int argc, char **argv)
{
    const struct gpu_library *library = NULL;
    struct gpu_device gpus[GPU_DEVICES_MOST];
    struct words words = {0};
    struct error err = {0};
    int count = 0;
    if (!parse(&words, argc, argv))
        return usage();
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (gpu_load(&library, &err) || library->devices(gpus, GPU_DEVICES_MOST, &count, &err) || count == 0) {
        if (words.name)
            return add_row(&words, "", "");
        if (driver_is_there()) {
            printf("FAILED the GPU of this machine cannot be used: %s\n", err.text);
            return 1;
        }
        printf("skipped: no device (%s)\n", err.text);
        return 0;
    }
    return words.name ? add_row(&words, gpus[0].name, library->build) : run(&words, library, &gpus[0]);
}
