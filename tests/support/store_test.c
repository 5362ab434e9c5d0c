#include "tests/support/store_test.h"

struct fixture f;

int store_test_setup(void **state)
{
    (void)state;
    fixture_init(&f);
    return 0;
}

int store_test_teardown(void **state)
{
    (void)state;
    fixture_fini(&f);
    return 0;
}
