/* What a submission does to runs, for people: notes, each of all the runs that share what there is to say. */
#include <string.h>

#include "harness/store/store_submit_internal.h"

/* What a reply may hold: notes, and of each the names of its first runs. */
enum { NOTES_MOST = 64, NOTE_RUNS_MOST = 256 };

static bool same_word(const json_t *note, const char *field, const char *word)
{
    const char *found = json_string_value(json_object_get(note, field));
    return word ? found && strcmp(found, word) == 0 : !found;
}

static json_t *find(const json_t *notes, const char *change, const char *why, const char *sweep,
                    const json_t *differences)
{
    json_t *note;
    for (size_t i = 0; (note = json_array_get(notes, i)); i++) {
        const json_t *held = json_object_get(note, "differences");
        if (same_word(note, "change", change) && same_word(note, "why", why) && same_word(note, "sweep", sweep) &&
            (differences ? held && json_equal(held, differences) : !held))
            return note;
    }
    return NULL;
}

void submit_note(struct submission *sub, const char *change, const char *why, const char *sweep, json_t *differences,
                 const char *id)
{
    json_t *note = sub->notes ? find(sub->notes, change, why, sweep, differences) : NULL;
    if (sub->notes && !note && json_array_size(sub->notes) >= NOTES_MOST) {
        json_decref(differences);
        differences = NULL;
        note = find(sub->notes, change, why, sweep, NULL);
    }
    if (sub->notes && !note) {
        note = json_pack("{s:s, s:s*, s:s*, s:O*, s:i, s:[]}", "change", change, "why", why, "sweep", sweep,
                         "differences", differences, "count", 0, "runs");
        json_array_append_new(sub->notes, note);
    }
    json_decref(differences);
    if (!note)
        return;
    json_t *runs = json_object_get(note, "runs");
    json_object_set_new(note, "count", json_integer(json_integer_value(json_object_get(note, "count")) + 1));
    if (json_array_size(runs) < NOTE_RUNS_MOST)
        json_array_append_new(runs, json_string(id));
}

json_t *submit_differences(const json_t *has, const json_t *wanted)
{
    int count;
    const struct config_key *keys = config_keys(&count);
    json_t *out = json_object();
    for (int i = 0; i < count; i++) {
        json_t *old = json_object_get(has, keys[i].name), *now = json_object_get(wanted, keys[i].name);
        if (!(keys[i].effect & CONFIG_RESULT) && old && now && !json_equal(old, now))
            json_object_set_new(out, keys[i].name, json_pack("[O, O]", old, now));
    }
    if (json_object_size(out) > 0)
        return out;
    json_decref(out);
    return NULL;
}
