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

static const struct option_row debug_options[] = {
    {"ops", 0, "cpu|reference", "the implementation of the ops (cpu)"},
    OPTION_THREADS,
    {0},
};

const struct command cmd_debug = {
    .name = "debug",
    .operands = "step|train IN.safetensors OUT.safetensors",
    .brief = "run a golden file, for comparison with the reference",
    .about = "  step   one forward and backward of IN's parameters on its tokens: grad/, out/, stat/\n"
             "  train  the steps of IN's trajectory on its batches: traj/, final/\n",
    .options = debug_options,
    .exec = debug_exec,
};
