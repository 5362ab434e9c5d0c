/* The tables themselves: every slot filled, memory aligned, zeroed and released with the backend. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/ops/ops.h"

static const struct ops *table_at(int i)
{
    return i == 0 ? ops_reference() : ops_cpu();
}

static struct backend *backend_of(const struct ops *ops)
{
    struct backend *be = NULL;
    struct error err = {0};
    const struct backend_options options = {.threads = 2, .precision = PRECISION_FP32};
    assert_int_equal(ops->create(&be, &options, &err), STATUS_OK);
    return be;
}

static void test_no_slot_is_empty(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++)
        assert_null(ops_first_empty(table_at(i)));
    struct ops copy = *ops_reference();
    copy.sample = NULL;
    assert_string_equal(ops_first_empty(&copy), "sample");
    copy.embed_forward = NULL;
    assert_string_equal(ops_first_empty(&copy), "embed_forward");
}

static void test_memory_is_aligned_and_zeroed(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        const struct ops *ops = table_at(i);
        struct backend *be = backend_of(ops);
        struct error err = {0};
        unsigned char *kept[3];
        const size_t sizes[3] = {1, 1000, 3 << 20};
        for (int k = 0; k < 3; k++) {
            kept[k] = ops->alloc(be, sizes[k], &err);
            assert_non_null(kept[k]);
            assert_int_equal((uintptr_t)kept[k] % 64, 0);
            for (size_t at = 0; at < sizes[k]; at++)
                assert_int_equal(kept[k][at], 0);
            memset(kept[k], 0xff, sizes[k]);
        }
        ops->release(be, kept[1]);
        ops->release(be, NULL);
        ops->destroy(be); /* the other two go with it: the leak checker watches */
        ops->destroy(NULL);
    }
}

static void test_too_much_memory_is_an_error(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        const struct ops *ops = table_at(i);
        struct backend *be = backend_of(ops);
        struct error err = {0};
        assert_null(ops->alloc(be, SIZE_MAX - 10, &err));
        assert_int_equal(err.status, STATUS_MEMORY);
        assert_non_null(strstr(err.text, "out of memory"));
        ops->destroy(be);
    }
}

static void count_call(void *arg)
{
    ++*(int *)arg;
}

static void test_copies_and_replay(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        const struct ops *ops = table_at(i);
        struct backend *be = backend_of(ops);
        struct error err = {0};
        const char text[] = "from here to there";
        char back[sizeof text];
        char *a = ops->alloc(be, sizeof text, &err), *b = ops->alloc(be, sizeof text, &err);
        ops->upload(be, a, text, sizeof text);
        ops->copy(be, b, a, sizeof text);
        ops->zero(be, a, sizeof text);
        ops->download(be, back, b, sizeof text);
        assert_string_equal(back, text);
        ops->download(be, back, a, sizeof text);
        for (size_t k = 0; k < sizeof text; k++)
            assert_int_equal(back[k], 0);
        int calls = 0;
        ops->replay(be, 3, 0, count_call, &calls);
        ops->replay(be, 3, 0, count_call, &calls);
        ops->forget_graphs(be);
        assert_int_equal(calls, 2); /* nothing is recorded on the CPU */
        assert_int_equal(ops->sync(be, &err), STATUS_OK);
        ops->destroy(be);
    }
}

static void test_cpu_wants_a_thread(void **state)
{
    (void)state;
    struct backend *be = NULL;
    struct error err = {0};
    const struct backend_options options = {.threads = 0};
    assert_int_equal(ops_cpu()->create(&be, &options, &err), STATUS_BAD_INPUT);
    assert_null(be);
    assert_non_null(strstr(err.text, "threads"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_slot_is_empty),
        cmocka_unit_test(test_memory_is_aligned_and_zeroed),
        cmocka_unit_test(test_too_much_memory_is_an_error),
        cmocka_unit_test(test_copies_and_replay),
        cmocka_unit_test(test_cpu_wants_a_thread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
