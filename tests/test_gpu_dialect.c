/* The CPU dialect finds what it is there to find: every kind of mistake, planted. And the backend's record of which
 * precision is valid where, against a naive one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef GPU_SKIP
static void test_gpu_dialect(void **state)
{
    (void)state;
    print_message("skipped: %s\n", GPU_SKIP);
    skip();
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_gpu_dialect)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
#else

#include "core/base/rng.h"
#include "gpu/regions.h"
#include "tests/gpu/faulty.h"
#include "tests/gpu/sim_device.h"

enum { THREADS = 256 };

static const unsigned schedules[] = {0, 1, 31};

/* How many elements are not what the right kernel gives, over the three orders. */
static int wrong_elements(enum faulty_kernel kernel)
{
    float to[THREADS], from[THREADS];
    int wrong = 0;
    for (int s = 0; s < 3; s++) {
        for (int i = 0; i < THREADS; i++)
            from[i] = (float)i;
        sim_set_schedule(schedules[s]);
        faulty_run(kernel, to, from);
        for (int i = 0; i < THREADS; i++)
            wrong += !(to[i] == (float)(THREADS - 1 - i));
    }
    sim_set_schedule(0);
    return wrong;
}

/* Run in a child, in an order of the threads; it must die with this text. */
static void dies(enum faulty_kernel kernel, unsigned schedule, const char *wanted)
{
    int ends[2];
    char text[4000] = "";
    assert_int_equal(pipe(ends), 0);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        float to[THREADS], from[THREADS] = {0};
        dup2(ends[1], STDERR_FILENO);
        sim_set_schedule(schedule);
        faulty_run(kernel, to, from);
        _exit(0);
    }
    close(ends[1]);
    size_t used = 0;
    ssize_t got;
    while (used < sizeof text - 1 && (got = read(ends[0], text + used, sizeof text - 1 - used)) > 0)
        used += (size_t)got;
    close(ends[0]);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_false(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    if (!strstr(text, wanted))
        fail_msg("want '%s' in: %s", wanted, text);
}

static void test_a_right_kernel_passes(void **state)
{
    (void)state;
    assert_int_equal(wrong_elements(FAULTY_NOTHING), 0);
}

static void test_wrong_results_show(void **state)
{
    (void)state;
    assert_true(wrong_elements(FAULTY_MISSING_BARRIER) > 0);
    assert_true(wrong_elements(FAULTY_UNSET_SHARED) == 3); /* element 0 in each order */
}

static void test_faults_end_the_program(void **state)
{
    (void)state;
    dies(FAULTY_DIVERGENT_BARRIER, 0, "a thread returned while others wait at a barrier");
    dies(FAULTY_EARLY_RETURN, 1, "a barrier after a thread of the block returned");
    dies(FAULTY_ABSENT_LANES, 0, "wait");
    dies(FAULTY_OWN_LANE, 0, "leaves out the own lane");
    dies(FAULTY_WAITS, 0, "wait for each other at different places");
#ifdef __SANITIZE_ADDRESS__
    dies(FAULTY_SHARED_OVERRUN, 0, "heap-buffer-overflow");
#endif
}

/* ------------------------------------------------------------------------------------------- regions */

enum { ELEMENTS = 64 };

struct naive {
    unsigned formats[ELEMENTS];
    int converted;
};

static void count_conversion(void *arg, float *full, uint16_t *half, size_t count, unsigned format)
{
    struct naive *n = arg;
    (void)full;
    (void)half;
    (void)format;
    n->converted += (int)count;
}

/* Random marks and requirements; the spans say the same as an array does. */
static void test_regions_against_a_naive_record(void **state)
{
    (void)state;
    static float memory[ELEMENTS];
    static uint16_t twin[ELEMENTS];
    const struct rng_stream stream = {.seed = 9, .use = RNG_TEST};
    struct regions regions = {0};
    struct naive naive = {.converted = 0};
    regions_add(&regions, memory, sizeof memory);
    struct region *r = regions_find(&regions, memory + 5);
    assert_non_null(r);
    assert_null(regions_find(&regions, memory + ELEMENTS));
    r->twin = twin;
    assert_ptr_equal(region_half(r, memory + 7), twin + 7);
    for (int i = 0; i < ELEMENTS; i++)
        naive.formats[i] = FORMAT_FULL;
    for (uint64_t k = 0; k < 4000; k++) {
        size_t begin = rng_below(&stream, 4 * k, ELEMENTS), count = rng_below(&stream, 4 * k + 1, ELEMENTS - begin + 1);
        unsigned formats = 1 + (unsigned)rng_below(&stream, 4 * k + 2, 3), expected = 0;
        if (rng_below(&stream, 4 * k + 3, 2)) {
            region_mark(r, memory + begin, count, formats);
            for (size_t i = begin; i < begin + count; i++)
                naive.formats[i] = formats;
        } else {
            unsigned format = formats == FORMAT_FULL ? FORMAT_FULL : FORMAT_HALF;
            for (size_t i = begin; i < begin + count; i++)
                expected += !(naive.formats[i] & format);
            assert_int_equal(region_has(r, memory + begin, count, format), expected == 0);
            naive.converted = 0;
            region_require(r, memory + begin, count, format, count_conversion, &naive);
            assert_int_equal(naive.converted, expected);
            for (size_t i = begin; i < begin + count; i++)
                naive.formats[i] = naive.formats[i] & format ? naive.formats[i] : FORMAT_BOTH;
        }
        for (int i = 0; i < ELEMENTS; i++)
            for (unsigned format = FORMAT_FULL; format <= FORMAT_HALF; format++)
                assert_int_equal(region_has(r, memory + i, 1, format), (naive.formats[i] & format) != 0);
    }
    regions_clear(&regions);
}

static void test_snapshots(void **state)
{
    (void)state;
    static float a[ELEMENTS], b[ELEMENTS];
    struct regions regions = {0};
    struct regions_snapshot saved;
    regions_add(&regions, a, sizeof a);
    uint64_t fresh = regions_state(&regions);
    region_mark(regions_find(&regions, a), a + 3, 5, FORMAT_HALF);
    uint64_t marked = regions_state(&regions);
    assert_true(marked != fresh);
    regions_save(&regions, &saved);
    region_mark(regions_find(&regions, a), a, ELEMENTS, FORMAT_FULL);
    assert_true(regions_state(&regions) == fresh);
    regions_add(&regions, b, sizeof b); /* one that holds nothing but fp32 does not count */
    assert_true(regions_state(&regions) == fresh);
    regions_restore(&regions, &saved);
    assert_true(regions_state(&regions) == marked);
    assert_false(region_has(regions_find(&regions, a), a + 3, 1, FORMAT_FULL));
    regions_remove(&regions, a);
    regions_add(&regions, a, sizeof a); /* the same address, another allocation */
    regions_restore(&regions, &saved);
    assert_true(regions_state(&regions) == fresh);
    regions_snapshot_free(&saved);
    regions_clear(&regions);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_right_kernel_passes),
        cmocka_unit_test(test_wrong_results_show),
        cmocka_unit_test(test_faults_end_the_program),
        cmocka_unit_test(test_regions_against_a_naive_record),
        cmocka_unit_test(test_snapshots),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
#endif
