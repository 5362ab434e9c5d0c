/* Rubbish for the socket protocol: the bytes come in pieces, lines are taken out, understood and answered. What is
 * understood must come back the same from its own text. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "harness/daemon/protocol.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void answer(const char *line, size_t size)
{
    json_t *request = NULL, *reply = NULL;
    struct error err = {0};
    int status = protocol_parse(line, size, &request, &err);
    if ((status != STATUS_OK) != (err.text[0] != '\0'))
        abort();
    char *text = status ? protocol_error(request, &err) : protocol_reply(request, json_pack("{s:i}", "n", 1));
    size_t length = strlen(text);
    if (length == 0 || text[length - 1] != '\n' || memchr(text, '\n', length) != text + length - 1)
        abort();
    int back = protocol_parse_reply(text, length - 1, &reply, &err);
    if ((back == STATUS_OK) != (status == STATUS_OK))
        abort();
    if (reply && json_object_get(request, "id") &&
        !json_equal(json_object_get(reply, "id"), json_object_get(request, "id")))
        abort();
    json_decref(reply);
    json_decref(request);
    free(text);
    if (protocol_parse_reply(line, size, &reply, &err) == STATUS_OK)
        json_decref(reply);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct protocol_reader r = {0};
    const char *line;
    size_t length, piece = size ? 1 + data[0] % 64 : 1, taken = 0;
    for (size_t at = 0; at < size; at += piece) {
        size_t take = at + piece < size ? piece : size - at;
        if (protocol_feed(&r, (const char *)data + at, take, NULL) != STATUS_OK)
            break;
        while (protocol_line(&r, &line, &length)) {
            taken += length + 1;
            if (taken > size || memchr(line, '\n', length))
                abort();
            answer(line, length);
        }
    }
    protocol_fini(&r);
    return 0;
}
