#include "tests/support/intake_test.h"

#include <string.h>

#include "harness/store/intake_internal.h"

char id[CONFIG_ID];

int intake_test_setup(void **state)
{
    store_test_setup(state);
    fixture_submit(&f, "sweep: s\ngrid: {seed: {range: [1, 4]}}\n");
    fixture_run_id(&f, "s", 0, id);
    return 0;
}

int intake_test_teardown(void **state)
{
    intake_scan_disable(false);
    return store_test_teardown(state);
}

void append(const char *text)
{
    fixture_append(&f, id, text, strlen(text));
}
