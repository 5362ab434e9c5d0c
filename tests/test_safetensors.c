/* safetensors: round trips of every type, and every lie a header can tell. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <math.h>

#include "core/base/memory.h"
#include "core/base/safetensors.h"
#include "tests/support/data.h"

static char *folder;

static int make_folder(void **state)
{
    (void)state;
    folder = data_folder_make();
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    data_folder_remove(folder);
    return 0;
}

/* A file of this header text and `body` bytes; claimed < 0: the true header length. */
static char *file_of(const char *header, long long claimed, size_t body)
{
    size_t length = strlen(header);
    unsigned char *bytes = memory_alloc(8 + length + body, 1);
    uint64_t size = claimed < 0 ? length : (uint64_t)claimed;
    memcpy(bytes, &size, 8);
    memcpy(bytes + 8, header, length);
    for (size_t i = 0; i < body; i++)
        bytes[8 + length + i] = (unsigned char)i;
    char *path = data_file_write(folder, "x.safetensors", bytes, 8 + length + body);
    free(bytes);
    return path;
}

static void expect_rejected(const char *header, long long claimed, size_t body, const char *part)
{
    struct safetensors f;
    struct error err = {0};
    char *path = file_of(header, claimed, body);
    assert_int_equal(safetensors_open(&f, path, &err), STATUS_BAD_INPUT);
    if (!strstr(err.text, part) || !strstr(err.text, path))
        fail_msg("%s: '%s' does not say '%s'", header, err.text, part);
    free(path);
}

static void lies(void **state)
{
    (void)state;
    expect_rejected("", 0, 0, "not a JSON object");
    expect_rejected("{}", 1000, 0, "claims 1000");
    expect_rejected("{}", (long long)0x7fffffffffffffff, 0, "claims");
    expect_rejected("[1]", -1, 0, "not a JSON object");
    expect_rejected("{\"a\":", -1, 0, "not a JSON object");
    expect_rejected("{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]},\"a\":1}", -1, 8, "duplicate");
    expect_rejected("{\"a\":{\"dtype\":31,\"shape\":[2],\"data_offsets\":[0,8]}}", -1, 8, "tensor a: want a dtype");
    expect_rejected("{\"a\":{\"dtype\":\"BOOL\",\"shape\":[8],\"data_offsets\":[0,7]}}", -1, 8, "1 bytes after");
    expect_rejected("{\"__metadata__\":{\"epoch\":3}}", -1, 0, "__metadata__.epoch: want a text");
    expect_rejected("{\"__metadata__\":\"pt\"}", -1, 0, "__metadata__: want an object");
    expect_rejected("{\"__metadata__\":null}", -1, 0, "__metadata__: want an object");
    expect_rejected("{\"a\":3}", -1, 8, "want a dtype");
    expect_rejected("{\"a\":{\"dtype\":\"F32\",\"shape\":[-2],\"data_offsets\":[0,8]}}", -1, 8, "none negative");
    expect_rejected("{\"a\":{\"dtype\":\"F32\",\"shape\":[1.5],\"data_offsets\":[0,8]}}", -1, 8,
                    "tensor a: want a shape");
    expect_rejected("{\"a\":{\"dtype\":\"F32\",\"shape\":[1,1,1,1,1,1,1,1,1],\"data_offsets\":[0,4]}}", -1, 4,
                    "at most 8");
    expect_rejected(
        "{\"a\":{\"dtype\":\"F32\",\"shape\":[4611686018427387904,4611686018427387904],\"data_offsets\":[0,8]}}", -1, 8,
        "tensor a: its shape has more elements");
    expect_rejected("{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0]}}", -1, 8, "two data_offsets");
    expect_rejected("{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[8,0]}}", -1, 8, "outside");
    expect_rejected("{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,80]}}", -1, 8, "outside");
    expect_rejected("{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[-8,0]}}", -1, 8, "outside");
    expect_rejected("{\"a\":{\"dtype\":\"F32\",\"shape\":[3],\"data_offsets\":[0,8]}}", -1, 8,
                    "want 12 bytes for F32 [3], got 8");
    expect_rejected("{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}", -1, 9, "1 bytes after");
    expect_rejected("{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]},"
                    "\"b\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[4,12]}}",
                    -1, 12, "overlaps");
    expect_rejected("{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]},"
                    "\"b\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[12,16]}}",
                    -1, 16, "follows a gap");
    expect_rejected("{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,8]}}", -1, 8, "follows a gap");
}

static void too_short(void **state)
{
    (void)state;
    struct safetensors f;
    struct error err = {0};
    char *path = data_file_write(folder, "short", "abc", 3);
    assert_int_equal(safetensors_open(&f, path, &err), STATUS_BAD_INPUT);
    assert_non_null(strstr(err.text, "3 bytes"));
    free(path);
    assert_int_equal(safetensors_open(&f, "/nowhere/x", &err), STATUS_BAD_INPUT);
    assert_int_equal(safetensors_open(&f, folder, &err), STATUS_BAD_INPUT);
}

static void round_trip(void **state)
{
    (void)state;
    const double f64[] = {1.0 / 3, -0.0, INFINITY};
    const float f32[] = {1.5f, NAN, -3e38f, 1e-45f};
    const uint16_t f16[] = {0x3c00, 0x0001, 0xfbff,
                            0x7c00, 0x83ff, 0x8000}; /* 1, 2^-24, -65504, inf, -1023*2^-24, -0 */
    const uint16_t bf16[] = {0x3f80, 0xc2f7};        /* 1, -123.5 */
    const int64_t i64[] = {INT64_MIN, -1, INT64_MAX};
    const int32_t i32[] = {-7};
    const struct tensor tensors[] = {
        {.name = "d", .type = TENSOR_F64, .rank = 1, .shape = {3}, .count = 3, .data = f64},
        {.name = "s", .type = TENSOR_F32, .rank = 2, .shape = {2, 2}, .count = 4, .data = f32},
        {.name = "h", .type = TENSOR_F16, .rank = 2, .shape = {3, 2}, .count = 6, .data = f16},
        {.name = "b", .type = TENSOR_BF16, .rank = 1, .shape = {2}, .count = 2, .data = bf16},
        {.name = "l", .type = TENSOR_I64, .rank = 1, .shape = {3}, .count = 3, .data = i64},
        {.name = "i", .type = TENSOR_I32, .rank = 0, .count = 1, .data = i32},
        {.name = "empty", .type = TENSOR_F32, .rank = 2, .shape = {0, 4}, .count = 0, .data = f32},
    };
    struct error err = {0};
    struct safetensors f;
    char *path = file_join(folder, "trip.safetensors");
    json_t *metadata = json_pack("{s:s}", "note", "n\"ote");
    assert_int_equal(safetensors_write(path, NULL, tensors, 7, metadata, &err), STATUS_OK);
    json_decref(metadata);
    if (safetensors_open(&f, path, &err))
        fail_msg("%s", err.text);
    assert_int_equal(f.count, 7);
    assert_string_equal(safetensors_metadata(&f, "note"), "n\"ote");
    assert_null(safetensors_find(&f, "nope"));
    double d[6];
    float s[4];
    int64_t l[3];
    assert_int_equal(safetensors_read_f64(&f, "d", 1, tensors[0].shape, d, &err), STATUS_OK);
    assert_memory_equal(d, f64, sizeof f64);
    assert_int_equal(safetensors_read_f32(&f, "s", 2, tensors[1].shape, s, &err), STATUS_OK);
    assert_memory_equal(s, f32, sizeof f32);
    assert_int_equal(safetensors_read_f64(&f, "h", 2, tensors[2].shape, d, &err), STATUS_OK);
    assert_true(d[0] == 1 && d[1] == 0x1p-24 && d[2] == -65504 && isinf(d[3]) && d[4] == -1023 * 0x1p-24 &&
                signbit(d[5]));
    assert_int_equal(safetensors_read_f64(&f, "b", 1, tensors[3].shape, d, &err), STATUS_OK);
    assert_true(d[0] == 1 && d[1] == -123.5);
    assert_int_equal(safetensors_read_i64(&f, "l", 1, tensors[4].shape, l, &err), STATUS_OK);
    assert_memory_equal(l, i64, sizeof i64);
    assert_int_equal(safetensors_read_i64(&f, "i", 0, NULL, l, &err), STATUS_OK);
    assert_int_equal(l[0], -7);
    assert_int_equal(safetensors_read_f32(&f, "s", 2, (int64_t[]){4, 1}, s, &err), STATUS_BAD_INPUT);
    assert_non_null(strstr(err.text, "tensor s: want shape [4, 1], got [2, 2]"));
    assert_int_equal(safetensors_read_i64(&f, "s", 2, tensors[1].shape, l, &err), STATUS_BAD_INPUT);
    safetensors_close(&f);
    free(path);
}

/* A tensor of a dtype that has no number here is no fault until its numbers are wanted; integers are no weights. */
static void other_types(void **state)
{
    (void)state;
    char *path = file_of("{\"mask\":{\"dtype\":\"BOOL\",\"shape\":[4],\"data_offsets\":[0,4]},"
                         "\"q\":{\"dtype\":\"I8\",\"shape\":[2,2],\"data_offsets\":[4,8]},"
                         "\"i\":{\"dtype\":\"I32\",\"shape\":[1],\"data_offsets\":[8,12]},"
                         "\"f\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[12,16]}}",
                         -1, 16);
    struct safetensors f;
    struct error err = {0};
    float x[4];
    int64_t l[4];
    if (safetensors_open(&f, path, &err))
        fail_msg("%s", err.text);
    assert_int_equal(safetensors_find(&f, "mask")->type, TENSOR_OTHER);
    assert_int_equal(safetensors_read_f32(&f, "f", 1, (int64_t[]){1}, x, &err), STATUS_OK);
    assert_int_equal(safetensors_read_f32(&f, "q", 2, (int64_t[]){2, 2}, x, &err), STATUS_BAD_INPUT);
    assert_non_null(strstr(err.text, "tensor q: want floating-point numbers (F32, F16, BF16, F64), got I8"));
    assert_int_equal(safetensors_read_f32(&f, "i", 1, (int64_t[]){1}, x, &err), STATUS_BAD_INPUT);
    assert_non_null(strstr(err.text, "got I32"));
    assert_int_equal(safetensors_read_i64(&f, "q", 2, (int64_t[]){2, 2}, l, &err), STATUS_BAD_INPUT);
    assert_non_null(strstr(err.text, "tensor q: want integers, got I8"));
    safetensors_close(&f);
    free(path);
}

/* Files that hold nothing, one number without a size, or much. */
static void sizes(void **state)
{
    (void)state;
    struct safetensors f;
    struct error err = {0};
    float x = 1.5f;
    char *path = data_file_write(folder, "empty", "", 0);
    assert_int_equal(safetensors_open(&f, path, &err), STATUS_BAD_INPUT);
    assert_non_null(strstr(err.text, path));
    free(path);
    path = file_join(folder, "sizes");
    assert_int_equal(safetensors_write(path, NULL, NULL, 0, NULL, &err), STATUS_OK);
    assert_int_equal(safetensors_open(&f, path, &err), STATUS_OK);
    assert_int_equal(f.count, 0);
    assert_null(safetensors_find(&f, "x"));
    safetensors_close(&f);
    const size_t many = (100 << 20) / sizeof x;
    float *much = memory_alloc(many, sizeof *much);
    much[many - 1] = 2;
    const struct tensor tensors[] = {
        {.name = "x", .type = TENSOR_F32, .rank = 0, .count = 1, .data = &x},
        {.name = "much", .type = TENSOR_F32, .rank = 1, .shape = {(int64_t)many}, .count = many, .data = much}};
    assert_int_equal(safetensors_write(path, NULL, tensors, 2, NULL, &err), STATUS_OK);
    assert_int_equal(safetensors_open(&f, path, &err), STATUS_OK);
    x = 0;
    memset(much, 0, many * sizeof *much);
    assert_int_equal(safetensors_read_f32(&f, "x", 0, NULL, &x, &err), STATUS_OK);
    assert_true(x == 1.5f);
    assert_int_equal(safetensors_read_f32(&f, "much", 1, tensors[1].shape, much, &err), STATUS_OK);
    assert_true(much[many - 1] == 2 && much[0] == 0);
    safetensors_close(&f);
    unlink(path);
    free(much);
    free(path);
}

/* Any damage is an error or a file that still holds together; the sanitizers watch. */
static void damage(void **state)
{
    (void)state;
    size_t size;
    uint64_t random = 7;
    unsigned char *bytes = data_file_read("tests/golden/baseline.safetensors", &size);
    for (int round = 0; round < 300; round++) {
        unsigned char *copy = memory_alloc(size, 1);
        struct safetensors f;
        struct error err = {0};
        memcpy(copy, bytes, size);
        for (uint32_t i = 0; i <= data_random(&random, 4); i++)
            copy[data_random(&random, 2600)] =
                (unsigned char)data_random(&random, 256); /* the header is about that long */
        char *path = data_file_write(folder, "damaged", copy, round % 3 ? size : data_random(&random, (uint32_t)size));
        int status = safetensors_open(&f, path, &err);
        assert_true(status == STATUS_OK || (status == STATUS_BAD_INPUT && err.text[0]));
        for (size_t i = 0; !status && i < f.count; i++) {
            if (!tensor_type_is_float(f.tensors[i].type)) /* a dtype that the damage made */
                continue;
            double *out = memory_alloc(f.tensors[i].count, sizeof *out);
            assert_int_equal(
                safetensors_read_f64(&f, f.tensors[i].name, f.tensors[i].rank, f.tensors[i].shape, out, &err), 0);
            free(out);
        }
        if (!status)
            safetensors_close(&f);
        free(path);
        free(copy);
    }
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lies),        cmocka_unit_test(too_short), cmocka_unit_test(round_trip),
        cmocka_unit_test(other_types), cmocka_unit_test(sizes),     cmocka_unit_test(damage),
    };
    return cmocka_run_group_tests_name("safetensors", tests, make_folder, remove_folder);
}
