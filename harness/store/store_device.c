#include "harness/store/store_device.h"

#include <stdio.h>
#include <string.h>

#include "core/base/memory.h"
#include "harness/store/store_internal.h"

int store_devices_aside(struct store *s, store_aside_each *each, void *arg, struct error *err)
{
    sqlite3_stmt *row = store_prepare(s, "SELECT device, why, since FROM device_aside ORDER BY device", err);
    if (!row)
        return STATUS_FAILED;
    int code, status = STATUS_OK;
    while ((code = sqlite3_step(row)) == SQLITE_ROW)
        each(arg, (const char *)sqlite3_column_text(row, 0), (const char *)sqlite3_column_text(row, 1),
             sqlite3_column_int64(row, 2));
    if (code != SQLITE_DONE)
        status = store_fail(s, err, "read the devices that are set aside");
    sqlite3_reset(row);
    return status;
}

static int note(struct store *s, const char *kind, const char *device, const char *text, struct error *err)
{
    char *line = memory_format("%s: %s", device, text);
    int status = store_add_event(s, NULL, NULL, 0, kind, line, err);
    free(line);
    return status;
}

int store_device_set_aside(struct store *s, const char *device, const char *why, int64_t *since, struct error *err)
{
    *since = store_now();
    int status = store_begin(s, false, err);
    if (status)
        return status;
    sqlite3_stmt *insert =
        store_prepare(s, "INSERT OR IGNORE INTO device_aside (device, since, why) VALUES (?1, ?2, ?3)", err);
    status = insert ? STATUS_OK : STATUS_FAILED;
    if (!status) {
        store_bind_text(insert, 1, device);
        store_bind_int(insert, 2, *since);
        store_bind_text(insert, 3, why);
        status = store_step(s, insert, "set a device aside", err);
    }
    if (!status && sqlite3_changes(s->db) > 0)
        status = note(s, "device_aside", device, why, err);
    if (!status)
        return store_commit(s, err);
    store_rollback(s);
    return status;
}

struct search {
    const char *word;
    char *device;
    size_t room;
    int found;
    bool exact;
    char all[1024]; /* that are aside */
};

static void match(void *arg, const char *device, const char *why, int64_t since)
{
    struct search *search = arg;
    size_t used = strlen(search->all);
    bool exact = strcmp(device, search->word) == 0;
    (void)why, (void)since;
    snprintf(search->all + used, sizeof search->all - used, "%s%s", used ? ", " : "", device);
    if (search->exact || strncmp(device, search->word, strlen(search->word)) != 0)
        return;
    search->exact = exact;
    search->found = exact ? 1 : search->found + 1;
    snprintf(search->device, search->room, "%s", device);
}

int store_device_use(struct store *s, const char *word, char *device, size_t room, struct error *err)
{
    struct search search = {.word = word, .device = device, .room = room};
    int status = store_begin(s, true, err);
    if (status)
        return status;
    status = store_devices_aside(s, match, &search, err);
    if (!status && search.found != 1)
        status = error_set(err, STATUS_BAD_INPUT, "'%s' means %s; set aside %s%s", word,
                           search.found ? "several devices" : "no device that is set aside",
                           search.all[0] ? "are: " : "is none", search.all);
    sqlite3_stmt *gone = status ? NULL : store_prepare(s, "DELETE FROM device_aside WHERE device = ?1", err);
    if (!status)
        status = gone ? STATUS_OK : STATUS_FAILED;
    if (!status) {
        store_bind_text(gone, 1, device);
        status = store_step(s, gone, "take a device back", err);
    }
    if (!status)
        status = note(s, "device_used", device, "taken back", err);
    if (!status)
        return store_commit(s, err);
    store_rollback(s);
    return status;
}
