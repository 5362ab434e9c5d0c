/* The setup that the tests of the store share: a home of its own with an open store, for each test anew.
 * Include cmocka.h and what it wants before this. */
#ifndef TAPER_TESTS_STORE_TEST_H
#define TAPER_TESTS_STORE_TEST_H

#include "tests/support/store_fixture.h"

extern struct fixture f; /* of the test that runs */

int store_test_setup(void **state);
int store_test_teardown(void **state);

#define STORE_TEST(name) cmocka_unit_test_setup_teardown(name, store_test_setup, store_test_teardown)

#endif
