#include <string.h>

#include "core/train/golden.h"
#include "core/base/parallel.h"
#include "harness/verbs/commands.h"
#include "harness/base/options.h"

static int debug_exec(int argc, char **argv, struct error *err)
{
    const char *threads_text = NULL, *ops_text = "cpu";
    const struct option_spec specs[] = {
        {.name = "threads", .value = &threads_text}, {.name = "ops", .value = &ops_text}, {0}};
    int operands;
    long long threads = parallel_processors();
    int status = options_parse(&cmd_debug, specs, argc, argv, &operands, err);
    if (!status && threads_text)
        status = options_integer("--threads", threads_text, 1, 1024, &threads, err);
    if (status)
        return status;
    if (operands != 3 || (strcmp(argv[1], "step") != 0 && strcmp(argv[1], "train") != 0))
        return command_usage(&cmd_debug, err, "want 'step' or 'train', and two files");
    const struct ops *ops = strcmp(ops_text, "reference") == 0 ? ops_reference()
                            : strcmp(ops_text, "cpu") == 0     ? ops_cpu()
                                                               : NULL;
    if (!ops)
        return command_usage(&cmd_debug, err, "--ops: want cpu or reference, got '%s'", ops_text);
    return (strcmp(argv[1], "step") == 0 ? golden_step : golden_train)(argv[2], argv[3], ops, (int)threads, err);
}

const struct command cmd_debug = {
    "debug", "step|train IN.safetensors OUT.safetensors [--ops cpu|reference] [--threads N]",
    "run a golden file, for comparison with the reference",
    "  step   one forward and backward of IN's parameters on its tokens: grad/, out/, stat/\n"
    "  train  the steps of IN's trajectory on its batches: traj/, final/\n\n"
    "  --ops cpu|reference  the implementation of the ops (cpu)\n"
    "  --threads N          CPU threads (all that the process may use)\n",
    debug_exec};
