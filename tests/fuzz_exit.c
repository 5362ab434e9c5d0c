/* Any bytes as the exit.json of an attempt: what is understood says the same again after it was written. */
#include <string.h>

#include "core/base/rundir.h"
#include "harness/queue/executor_exit.h"
#include "tests/fuzz_memory.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char name[] = RUNDIR_EXIT;
    struct supervisor_end end;
    struct executor_end ours;
    struct error err = {0};
    fuzz_folder_fill(name, data, size);
    if (supervisor_end_read(fuzz_folder.path, &end, &err) != STATUS_OK) {
        if (!err.text[0])
            abort();
        return 0;
    }
    struct supervisor_end same = end;
    if (!executor_exit_read(fuzz_folder.path, end.token, end.attempt, false, &same, &ours) ||
        ours.outcome != end.outcome || ours.cpu_us < 0)
        abort();
    return 0;
}
