#include "core/data/text_shape.h"

#include <jansson.h>
#include <stdint.h>
#include <string.h>

enum { LOOKED_AT = 4096, LEAST_WIDE = 64, LONGEST_LINE = 64 << 20 };

static const struct {
    const char *magic;
    size_t length;
    const char *what, *how;
} formats[] = {
    {"\x1f\x8b", 2, "compressed by gzip", "gzip -d makes the text of it"},
    {"\x28\xb5\x2f\xfd", 4, "compressed by zstd", "zstd -d makes the text of it"},
    {"\xfd"
     "7zXZ\0",
     6, "compressed by xz", "xz -d makes the text of it"},
    {"BZh", 3, "compressed by bzip2", "bzip2 -d makes the text of it"},
    {"\x04\x22\x4d\x18", 4, "compressed by lz4", "lz4 -d makes the text of it"},
    {"PK\x03\x04", 4, "a zip archive", "unzip it"},
    {"PK\x05\x06", 4, "an empty zip archive", "it holds no text"},
    {"7z\xbc\xaf\x27\x1c", 6, "a 7z archive", "unpack it"},
    {"Rar!\x1a\x07", 6, "a RAR archive", "unpack it"},
    {"\x1f\x9d", 2, "compressed by compress", "gzip -d makes the text of it"},
    {"Obj\x01", 4, "an Avro table", "write its column of text as JSON lines, which --field reads"},
    {"\x80\x02", 2, "a pickle of Python's", "write its text as JSON lines, which --field reads"},
    {"\x80\x04\x95", 3, "a pickle of Python's", "write its text as JSON lines, which --field reads"},
    {"\x80\x05\x95", 3, "a pickle of Python's", "write its text as JSON lines, which --field reads"},
    {"PAR1", 4, "a Parquet table", "write its column of text as JSON lines, which --field reads"},
    {"ARROW1\0\0", 8, "an Arrow table", "write its column of text as JSON lines, which --field reads"},
    {"TAPERTOK", 8, "a token file", "give the text it was made from (taper data decode)"},
    {"\x93NUMPY", 6, "a NumPy array", "give the text"},
    {"SQLite format 3\0", 16, "an SQLite database", "give the text"},
    {"\x89HDF\r\n\x1a\n", 8, "an HDF5 file", "give the text"},
    {"GGUF", 4, "a model in GGUF", "give a text"},
    {"%PDF-", 5, "a PDF document", "pdftotext makes a text of it"},
    {"\x89PNG\r\n\x1a\n", 8, "a PNG picture", "give a text"},
    {"\xff\xd8\xff", 3, "a JPEG picture", "give a text"},
    {"\x7f"
     "ELF",
     4, "a program", "give a text"},
    {"\xff\xfe\0\0", 4, "text in UTF-32", "iconv -f UTF-32 -t UTF-8 makes it UTF-8"},
    {"\0\0\xfe\xff", 4, "text in UTF-32", "iconv -f UTF-32 -t UTF-8 makes it UTF-8"},
    {"\xff\xfe", 2, "text in UTF-16", "iconv -f UTF-16 -t UTF-8 makes it UTF-8"},
    {"\xfe\xff", 2, "text in UTF-16", "iconv -f UTF-16 -t UTF-8 makes it UTF-8"},
    {"\xef\xbb\xbf", 3, "UTF-8 with a byte-order mark", "sed '1s/^\\xEF\\xBB\\xBF//' takes the mark off"},
};

/* What no first bytes tell. */
static bool is_tar(const unsigned char *bytes, size_t length)
{
    enum { AT = 257 };
    return length >= AT + 5 && memcmp(bytes + AT, "ustar", 5) == 0;
}

static bool is_safetensors(const unsigned char *bytes, size_t length)
{
    uint64_t header = 0;
    for (int i = 8; length >= 10 && i-- > 0;)
        header = header << 8 | bytes[i];
    return header >= 2 && header <= length - 8 && memcmp(bytes + 8, "{\"", 2) == 0;
}

static size_t skip_blanks(const unsigned char *bytes, size_t length, size_t at)
{
    while (at < length && memchr(" \t\r\n", bytes[at], 4))
        at++;
    return at;
}

/* An array whose first element is an object. */
static bool is_json_array(const unsigned char *bytes, size_t length)
{
    size_t at = skip_blanks(bytes, length, 0);
    if (at == length || bytes[at] != '[')
        return false;
    at = skip_blanks(bytes, length, at + 1);
    if (at == length || bytes[at] != '{')
        return false;
    const size_t rest = length - at < LONGEST_LINE ? length - at : LONGEST_LINE;
    json_t *object = json_loadb((const char *)bytes + at, rest, JSON_ALLOW_NUL | JSON_DISABLE_EOF_CHECK, NULL);
    const bool is = json_object_size(object) > 0;
    json_decref(object);
    return is;
}

static const struct {
    bool (*is)(const unsigned char *bytes, size_t length);
    const char *what, *how;
} others[] = {
    {is_tar, "a tar archive", "unpack it; a directory is read whole"},
    {is_safetensors, "a model in safetensors", "give a text"},
    {is_json_array, "a JSON array", "jq -c '.[]' makes JSON lines of it, which --field reads"},
};

/* UTF-16 without a mark: of ASCII, nearly every second byte is 0. The order of the bytes, NULL when it is not. */
static const char *wide_order(const unsigned char *bytes, size_t length)
{
    size_t zeros[2] = {0, 0}, pairs = (length < LOOKED_AT ? length : LOOKED_AT) / 2;
    for (size_t i = 0; i < 2 * pairs; i++)
        zeros[i % 2] += bytes[i] == 0;
    if (2 * pairs < LEAST_WIDE)
        return NULL;
    for (int odd = 0; odd < 2; odd++)
        if (10 * zeros[odd] >= 9 * pairs && 10 * zeros[!odd] <= pairs)
            return odd ? "UTF-16LE" : "UTF-16BE";
    return NULL;
}

int text_shape_check(const unsigned char *bytes, size_t length, const char *path, struct error *err)
{
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++)
        if (length >= formats[i].length && memcmp(bytes, formats[i].magic, formats[i].length) == 0)
            return error_set(err, STATUS_BAD_INPUT, "%s: want a plain text, got %s: %s", path, formats[i].what,
                             formats[i].how);
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (others[i].is(bytes, length))
            return error_set(err, STATUS_BAD_INPUT, "%s: want a plain text, got %s: %s", path, others[i].what,
                             others[i].how);
    const char *order = wide_order(bytes, length);
    if (order)
        return error_set(err, STATUS_BAD_INPUT,
                         "%s: want a plain text, got text in %s: iconv -f %s -t UTF-8 makes it UTF-8", path, order,
                         order);
    return STATUS_OK;
}

/* The line at `at`, without its end; *next set behind it. */
static size_t line_length(const unsigned char *bytes, size_t length, size_t at, size_t *next)
{
    const unsigned char *newline = memchr(bytes + at, '\n', length - at);
    const size_t end = newline ? (size_t)(newline - bytes) : length;
    *next = newline ? end + 1 : length;
    return end - at;
}

bool text_shape_is_json_lines(const unsigned char *bytes, size_t length)
{
    int objects = 0;
    for (size_t at = 0, next; at < length && objects < 2; at = next) {
        const size_t line = line_length(bytes, length, at, &next);
        if (line == 0)
            continue;
        if (bytes[at] != '{' || line > LONGEST_LINE)
            return false;
        json_t *object = json_loadb((const char *)bytes + at, line, JSON_ALLOW_NUL, NULL);
        const bool is = json_object_size(object) > 0;
        json_decref(object);
        if (!is)
            return false;
        objects++;
    }
    return objects > 0;
}
