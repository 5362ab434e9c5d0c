/* Any JSON as a tokenizer.json (its steps, added tokens and merges over a byte vocabulary that is completed, so that
 * rubbish gets beyond the bytes), and a text through what comes of it. */
#include <stdlib.h>
#include <string.h>

#include "core/base/memory.h"
#include "core/data/tokenizer_internal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void complete(json_t *object)
{
    json_t *model = json_object_get(object, "model"), *vocab = json_object_get(model, "vocab");
    if (!json_is_object(vocab) || !json_is_true(json_object_get(object, "complete")))
        return;
    for (int i = 0; i < 256; i++) {
        const uint32_t code = tokenizer_byte_symbol((unsigned char)i);
        const char symbol[3] = {(char)(code < 0x80 ? code : 0xc0 | code >> 6),
                                (char)(code < 0x80 ? 0 : 0x80 | (code & 0x3f)), '\0'};
        json_object_set_new(vocab, symbol, json_integer(i));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char text[] = "I'll e\xcc\x81 12 \xff\xe4\xbd\xa0 <m>  \r\n x";
    struct tokenizer *t;
    struct encoder *e;
    struct error err = {0};
    json_t *object = json_loadb((const char *)data, size, 0, NULL);
    complete(object);
    if (object && tokenizer_from_json(&t, object, "fuzz", NULL, &err) == STATUS_OK) {
        uint32_t *ids = memory_alloc(tokenizer_room(t, sizeof text - 1) + 1, sizeof *ids);
        size_t count = 0;
        if (encoder_create(&e, t, &err) == STATUS_OK) {
            if (tokenizer_encode(e, text, sizeof text - 1, ids, &count, &err) == STATUS_OK)
                for (size_t i = 0; i < count; i++)
                    if (ids[i] >= tokenizer_vocab_size(t))
                        abort();
            encoder_destroy(e);
        }
        free(ids);
        tokenizer_destroy(t);
    } else if (object && !err.text[0]) {
        abort();
    }
    json_decref(object);
    return 0;
}
