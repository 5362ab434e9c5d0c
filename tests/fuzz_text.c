/* Any bytes as a text, whole and as JSON lines, and each document through the pre-tokenizer: the pieces are the
 * document, and the same with PCRE2 alone. */
#include <string.h>

#include "core/data/pretokenize.h"
#include "core/data/text.h"
#include "tests/fuzz_memory.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* [0] the quick scanner, [1] PCRE2 alone. */
static struct pretokenizer *both[2];

static void cut(const struct text_document *d)
{
    size_t at = 0, begin[2], end[2];
    struct error err = {0};
    for (int i = 0; i < 2; i++)
        pretokenizer_start(both[i], d->bytes, d->length);
    for (;;) {
        int more[2];
        for (int i = 0; i < 2; i++)
            more[i] = pretokenizer_next(both[i], &begin[i], &end[i], &err);
        if (more[0] != more[1] || (more[0] != 0 && more[0] != 1))
            abort();
        if (!more[0])
            break;
        if (begin[0] != at || end[0] <= at || begin[1] != begin[0] || end[1] != end[0])
            abort();
        at = end[0];
    }
    if (at != d->length)
        abort();
}

static void read_text(const char *path, const char *field)
{
    struct text text;
    struct error err = {0};
    if (text_open_field(&text, path, field, &err) != STATUS_OK) {
        if (!err.text[0])
            abort();
        return;
    }
    uint64_t bytes = 0;
    for (size_t i = 0; i < text.count; i++) {
        bytes += text.documents[i].length;
        cut(&text.documents[i]);
    }
    if (bytes != text.bytes)
        abort();
    text_close(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char name[] = "text";
    char path[64];
    for (int i = 0; i < 2 && !both[i]; i++) {
        if (pretokenizer_create(&both[i], NULL) != STATUS_OK)
            abort();
        pretokenizer_use_regex_only(both[i], i);
    }
    fuzz_folder_fill(name, data, size);
    snprintf(path, sizeof path, "%s/%s", fuzz_folder.path, name);
    read_text(path, NULL);
    read_text(path, "text");
    return 0;
}
