/* The setup that the tests of the intake share: that of the store's, and one run whose journal they write. */
#ifndef TAPER_TESTS_INTAKE_TEST_H
#define TAPER_TESTS_INTAKE_TEST_H

#include "tests/support/store_test.h"

extern char id[CONFIG_ID]; /* the first of the four runs of sweep s, which has no journal yet */

int intake_test_setup(void **state);
int intake_test_teardown(void **state); /* also turns the fast scanner on again */

/* Append to that run's journal. */
void append(const char *text);

#define INTAKE_TEST(name) cmocka_unit_test_setup_teardown(name, intake_test_setup, intake_test_teardown)

#endif
