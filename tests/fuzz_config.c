/* Any JSON as the configuration of a run: a refusal, or one that comes back from its own JSON with its name and shape.
 */
#include <stdlib.h>
#include <string.h>

#include "core/config/config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct config cfg, back;
    struct error err = {0};
    char one[2][CONFIG_ID], two[2][CONFIG_ID];
    json_t *object = json_loadb((const char *)data, size, JSON_REJECT_DUPLICATES, NULL);
    if (!object)
        return 0;
    if (config_from_json(&cfg, object, "fuzz", &err) == STATUS_OK) {
        json_t *again = config_to_json(&cfg);
        if (!cfg.finished || config_from_json(&back, again, "fuzz", &err) != STATUS_OK)
            abort();
        config_identity(&cfg, "c", "t", one[0]);
        config_identity(&back, "c", "t", two[0]);
        config_shape(&cfg, one[1]);
        config_shape(&back, two[1]);
        if (memcmp(one, two, sizeof one) != 0)
            abort();
        json_decref(again);
    } else if (!err.text[0]) {
        abort();
    }
    json_decref(object);
    return 0;
}
