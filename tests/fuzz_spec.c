/* libFuzzer: any bytes as a sweep. What is accepted must expand, and say the same again. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "harness/spec/spec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct spec spec;
    struct error err = {0};
    int status = spec_parse(&spec, (const char *)data, size, "f.yaml", "/dir", NULL, &err);
    if (status) {
        /* Never without a place, never with anything left behind. */
        if (status != STATUS_BAD_INPUT || strncmp(err.text, "f.yaml:", 7) != 0 || spec.text || spec.run_count)
            abort();
        return 0;
    }
    if (spec.run_count < 1 || spec.run_count > SPEC_RUNS_MOST)
        abort();
    for (int64_t i = 0; i < spec.run_count; i += 1 + spec.run_count / 8) {
        struct config cfg;
        int variant = spec_run(&spec, i, &cfg);
        if (variant < 0 || variant >= spec.variant_count || !cfg.finished)
            abort();
        for (int a = 0; a < spec.axis_count; a++)
            if (!spec_run_value(&spec, i, a))
                abort();
    }
    struct spec_after after;
    json_t *json = spec_after_to_json(&spec.after);
    if (spec_after_from_json(&after, json, "fuzz", NULL) || memcmp(&after, &spec.after, sizeof after) != 0)
        abort();
    json_decref(json);
    spec_fini(&spec);
    return 0;
}
