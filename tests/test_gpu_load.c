/* Loading the CUDA backend: what is said where there is none, where it is another version's, where CUDA is missing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <unistd.h>

#include "core/ops/gpu_load.h"

static void refuse(const char *path, const char *wanted)
{
    const struct gpu_library *library = NULL;
    struct error err = {0};
    assert_int_equal(gpu_load_from(path, &library, &err), STATUS_BAD_INPUT);
    assert_null(library);
    if (!strstr(err.text, wanted))
        fail_msg("want '%s' in: %s", wanted, err.text);
}

static void test_what_does_not_fit_is_refused(void **state)
{
    (void)state;
    refuse(LIBRARIES "/libnothing.so", "exports no taper_gpu_library");
    refuse(LIBRARIES "/libundefined.so", "cudaNothingOfThisName");
    refuse(LIBRARIES "/libolder.so", "another version's: interface 42");
    refuse(LIBRARIES "/libpartial.so", "its ops table has no create");
    refuse("tests/test_gpu_load.c", "invalid ELF header");
}

static void test_a_missing_library_is_named(void **state)
{
    (void)state;
    const struct gpu_library *library = NULL;
    struct gpu_device devices[2];
    struct error err = {0};
    int count = -1;
    setenv("TAPER_GPU_LIB", "/nowhere/libtaper_gpu.so", 1);
    assert_int_equal(gpu_load(&library, &err), STATUS_BAD_INPUT);
    assert_non_null(strstr(err.text, "device: cuda: /nowhere/libtaper_gpu.so: there is no such file"));
    err = (struct error){0};
    assert_int_equal(gpu_describe(devices, 2, &count, &err), STATUS_BAD_INPUT);
    assert_int_equal(count, 0);
    unsetenv("TAPER_GPU_LIB");
    err = (struct error){0};
    assert_int_equal(gpu_load(&library, &err), STATUS_FAILED); /* beside this test there is none */
    assert_non_null(strstr(err.text, "tests/libtaper_gpu.so"));
}

/* The real library: it loads on a machine with CUDA's libraries, and without a device says so. */
static void test_the_library_itself(void **state)
{
    (void)state;
    const char *path = LIBRARIES "/../../libtaper_gpu.so";
    const struct gpu_library *library = NULL;
    struct gpu_device devices[GPU_DEVICES_MOST];
    struct error err = {0};
    int count = 0;
    if (access(path, F_OK) != 0) {
        print_message("skipped: libtaper_gpu.so was not built (%s)\n",
                      *GPU_MISSING ? "no " GPU_MISSING : "not in this flavour");
        skip();
    }
    if (gpu_load_from(path, &library, &err))
        fail_msg("%s", err.text);
    assert_string_equal(library->ops->name, "cuda");
    struct backend *be = NULL;
    const struct backend_options options = {.precision = PRECISION_BF16};
    if (library->devices(devices, GPU_DEVICES_MOST, &count, &err)) {
        assert_int_equal(count, 0);
        assert_non_null(strstr(err.text, "no CUDA device"));
        assert_int_equal(library->ops->create(&be, &options, &err), STATUS_FAILED);
        assert_null(be);
        assert_non_null(strstr(err.text, "no CUDA device"));
    } else {
        assert_in_range(count, 1, GPU_DEVICES_MOST);
        assert_int_equal(library->ops->create(&be, &options, &err), STATUS_OK);
        library->ops->destroy(be);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_does_not_fit_is_refused),
        cmocka_unit_test(test_a_missing_library_is_named),
        cmocka_unit_test(test_the_library_itself),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
