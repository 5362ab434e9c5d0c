/* gpu_tool check|bench [--tiny] [--json FILE]: what make gpu-check and make gpu-bench run. Without a device it says
 * 'skipped: no device' and exits with 0. */
#include <string.h>

#include "core/gpu_load.h"
#include "core/parallel.h"
#include "tests/gpu/tool/tool.h"

static int usage(void)
{
    fprintf(stderr, "usage: gpu_tool check|bench [--tiny] [--json FILE]\n");
    return 2;
}

static int run(const char *what, bool tiny, const char *json, const struct gpu_library *library,
               const struct gpu_device *gpu)
{
    struct tool_report report;
    struct error err = {0};
    const struct check_options options = {.tiny = tiny, .threads = parallel_processors()};
    report_open(&report, stdout);
    printf("%s, %s\n", gpu->name, library->build);
    if (strcmp(what, "check") == 0)
        check_run(&report, library->ops, &options);
    else
        bench_run(&report, library->ops, tiny);
    int failed = report.failed;
    int status = json ? report_write(&report, json, gpu->name, library->build, &err) : STATUS_OK;
    if (status)
        fprintf(stderr, "gpu_tool: %s\n", err.text);
    printf("%d rows, %d failed\n", (int)json_array_size(report.rows), failed);
    report_close(&report);
    return failed || status ? 1 : 0;
}

int main(int argc, char **argv)
{
    const struct gpu_library *library = NULL;
    struct gpu_device gpus[GPU_DEVICES_MOST];
    struct error err = {0};
    const char *json = NULL;
    bool tiny = false;
    int count = 0;
    if (argc < 2 || (strcmp(argv[1], "check") != 0 && strcmp(argv[1], "bench") != 0))
        return usage();
    for (int i = 2; i < argc; i++)
        if (strcmp(argv[i], "--tiny") == 0)
            tiny = true;
        else if (strcmp(argv[i], "--json") == 0 && i + 1 < argc)
            json = argv[++i];
        else
            return usage();
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (gpu_load(&library, &err) || library->devices(gpus, GPU_DEVICES_MOST, &count, &err) || count == 0) {
        printf("skipped: no device (%s)\n", err.text);
        return 0;
    }
    return run(argv[1], tiny, json, library, &gpus[0]);
}
