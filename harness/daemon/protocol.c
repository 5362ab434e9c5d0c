#include "harness/daemon/protocol.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/memory.h"

int protocol_feed(struct protocol_reader *r, const char *bytes, size_t size, struct error *err)
{
    if (r->taken) { /* lines that were handed out */
        memmove(r->bytes, r->bytes + r->taken, r->used - r->taken);
        r->used -= r->taken;
        r->scanned = r->scanned > r->taken ? r->scanned - r->taken : 0;
        r->taken = 0;
    }
    if (r->used + size > r->room) {
        r->room = r->used + size > 2 * r->room ? r->used + size : 2 * r->room;
        r->bytes = memory_resize(r->bytes, r->room, 1);
    }
    if (size)
        memcpy(r->bytes + r->used, bytes, size);
    r->used += size;
    /* The longest line begun: from the last newline to the end, or any between two newlines. */
    const char *at = r->bytes, *end = r->bytes ? r->bytes + r->used : NULL;
    while (at && at < end) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        if ((size_t)((newline ? newline : end) - at) > PROTOCOL_LINE_MOST)
            return error_set(err, STATUS_BAD_INPUT, "a line is longer than %d bytes", PROTOCOL_LINE_MOST);
        at = newline ? newline + 1 : NULL;
    }
    return STATUS_OK;
}

bool protocol_line(struct protocol_reader *r, const char **line, size_t *size)
{
    if (r->scanned < r->taken)
        r->scanned = r->taken;
    const char *newline = r->used > r->scanned ? memchr(r->bytes + r->scanned, '\n', r->used - r->scanned) : NULL;
    if (!newline) {
        r->scanned = r->used;
        return false;
    }
    *line = r->bytes + r->taken;
    *size = (size_t)(newline - *line);
    r->taken = r->scanned = (size_t)(newline - r->bytes) + 1;
    if (*size && (*line)[*size - 1] == '\r')
        --*size;
    return true;
}

void protocol_fini(struct protocol_reader *r)
{
    free(r->bytes);
    *r = (struct protocol_reader){0};
}

static int check_version(const json_t *object, struct error *err)
{
    const json_t *version = json_object_get(object, "v");
    if (!json_is_integer(version))
        return error_set(err, STATUS_BAD_INPUT, "v: want the protocol's version, %d", PROTOCOL_VERSION);
    if (json_integer_value(version) != PROTOCOL_VERSION)
        return error_set(err, STATUS_BAD_INPUT, "v: this side speaks version %d of the protocol, the other %lld",
                         PROTOCOL_VERSION, (long long)json_integer_value(version));
    return STATUS_OK;
}

int protocol_parse(const char *line, size_t size, json_t **request, struct error *err)
{
    json_error_t where;
    *request = json_loadb(line, size, JSON_REJECT_DUPLICATES, &where);
    if (!*request)
        return error_set(err, STATUS_BAD_INPUT, "column %d: %s", where.column, where.text);
    if (!json_is_object(*request)) {
        json_decref(*request);
        *request = NULL;
        return error_set(err, STATUS_BAD_INPUT, "want a JSON object");
    }
    int status = check_version(*request, err);
    if (!status && !json_is_string(json_object_get(*request, "do")))
        status = error_set(err, STATUS_BAD_INPUT, "do: want the name of a request");
    return status;
}

static char *as_line(json_t *object)
{
    char *text = json_dumps(object, JSON_COMPACT);
    json_decref(object);
    if (!text)
        return memory_string("{\"v\":1,\"id\":null,\"ok\":false,\"status\":-1,\"error\":\"the reply is no JSON\"}\n");
    char *line = memory_format("%s\n", text);
    free(text);
    return line;
}

static json_t *begin_reply(const json_t *request, bool ok)
{
    json_t *reply = json_object(), *id = json_object_get(request, "id");
    json_object_set_new(reply, "v", json_integer(PROTOCOL_VERSION));
    if (id)
        json_object_set(reply, "id", id);
    else
        json_object_set_new(reply, "id", json_null());
    json_object_set_new(reply, "ok", json_boolean(ok));
    return reply;
}

char *protocol_reply(const json_t *request, json_t *body)
{
    json_t *reply = begin_reply(request, true);
    if (body)
        json_object_update_missing(reply, body);
    json_decref(body);
    return as_line(reply);
}

/* Text of unknown origin: what is not UTF-8 is replaced. */
static json_t *printable(const char *text)
{
    json_t *string = json_string(text);
    if (string)
        return string;
    char *copy = memory_string(text);
    for (char *at = copy; *at; at++)
        if ((unsigned char)*at >= 0x80)
            *at = '?';
    string = json_string(copy);
    free(copy);
    return string;
}

char *protocol_error(const json_t *request, const struct error *err)
{
    json_t *reply = begin_reply(request, false);
    json_object_set_new(reply, "status", json_integer(err->status ? err->status : STATUS_FAILED));
    json_object_set_new(reply, "error", printable(err->text));
    return as_line(reply);
}

char *protocol_request(const char *what, json_t *body)
{
    json_t *request = json_pack("{s:i, s:i, s:s}", "v", PROTOCOL_VERSION, "id", 1, "do", what);
    if (body)
        json_object_update(request, body);
    json_decref(body);
    return as_line(request);
}

int protocol_parse_reply(const char *line, size_t size, json_t **reply, struct error *err)
{
    json_error_t where;
    *reply = json_loadb(line, size, 0, &where);
    if (!json_is_object(*reply)) {
        json_decref(*reply);
        *reply = NULL;
        return error_set(err, STATUS_FAILED, "the daemon's reply cannot be understood: %s", where.text);
    }
    int status = check_version(*reply, err);
    if (!status && !json_is_true(json_object_get(*reply, "ok"))) {
        const char *text = json_string_value(json_object_get(*reply, "error"));
        json_int_t code = json_integer_value(json_object_get(*reply, "status"));
        status = code == STATUS_BAD_INPUT || code == STATUS_STOPPED ? (int)code : STATUS_FAILED;
        error_set(err, status, "%s", text ? text : "the daemon refused, and did not say why");
    }
    if (status) {
        json_decref(*reply);
        *reply = NULL;
    }
    return status;
}
