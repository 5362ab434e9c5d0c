/* Any bytes as the --config file of a training: a refusal that leaves the configuration alone, or one that comes back
 * from its own JSON with its name. */
#include <string.h>

#include "harness/spec/config_yaml.h"
#include "tests/fuzz_memory.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char name[] = "run.yaml";
    struct config cfg, before, back;
    struct error err = {0};
    char path[64], one[CONFIG_ID], two[CONFIG_ID];
    config_init(&cfg);
    before = cfg;
    fuzz_folder_fill(name, data, size);
    snprintf(path, sizeof path, "%s/%s", fuzz_folder.path, name);
    if (config_load_yaml(&cfg, path, NULL, &err) != STATUS_OK) {
        if (!err.text[0] || memcmp(&before, &cfg, sizeof cfg) != 0)
            abort();
        return 0;
    }
    if (config_finish(&cfg, &err) != STATUS_OK)
        return 0;
    json_t *object = config_to_json(&cfg);
    if (config_from_json(&back, object, "fuzz", &err) != STATUS_OK && strstr(err.text, "not UTF-8") == NULL) {
        fprintf(stderr, "%s\n", err.text);
        abort();
    }
    config_identity(&cfg, "c", "t", one);
    config_identity(&back, "c", "t", two);
    if (strcmp(one, two) != 0)
        abort();
    json_decref(object);
    return 0;
}
