/* Any bytes as the checkpoint that a run goes on from: damaged, refused, or a state whose numbers stand. Files with a
 * digest of their content end there; those of the first version, which have none, are read through. */
#include <stdlib.h>
#include <string.h>

#include "core/base/rundir.h"
#include "core/ref/ref.h"
#include "core/train/checkpoint.h"
#include "tests/fuzz_memory.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct backend *be;
static struct model model;
static struct trainer trainer;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    static const char *const settings[] = {"model.d_model=2",   "model.layers=1", "model.heads=1",   "model.context=2",
                                           "model.vocab=3",     "model.d_ff=2",   "taper.sites=all", "train.steps=4",
                                           "gate.warmup=2",     "gate.end=4",     "aux.lambda=0.1",  "train.batch=1",
                                           "model.init_std=0.1"};
    struct config cfg;
    struct error err = {0};
    (void)argc, (void)argv;
    config_init(&cfg);
    int status = STATUS_OK;
    for (size_t i = 0; !status && i < sizeof settings / sizeof settings[0]; i++)
        status = config_set_pair(&cfg, settings[i], &err);
    if (!status)
        status = config_finish(&cfg, &err);
    if (!status)
        status = ops_reference()->create(&be, &(struct backend_options){.threads = 1}, &err);
    if (!status)
        status = model_create(&model, &cfg, ops_reference(), be, &err);
    if (!status)
        status = trainer_create(&trainer, &model, 1, (int)cfg.context, &err);
    if (status) {
        fprintf(stderr, "fuzz_checkpoint: %s\n", err.text);
        abort();
    }
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char name[] = RUNDIR_CHECKPOINT;
    const struct checkpoint_data text = {"c", "t"};
    struct safetensors f;
    struct config cfg;
    char path[64];
    bool damaged = false;
    struct error err = {0};
    fuzz_folder_fill(name, data, size);
    snprintf(path, sizeof path, "%s/%s", fuzz_folder.path, name);
    int status = checkpoint_open(&f, path, &damaged, &err);
    if (status == STATUS_OK && damaged)
        abort();
    if (status) {
        if (!err.text[0])
            abort();
        return 0;
    }
    status = checkpoint_config(&f, &cfg, &err);
    if (!status)
        status = checkpoint_compare(path, &model.cfg, &cfg, &err);
    if (!status)
        status = checkpoint_load(&f, &trainer, &text, &err);
    if (status ? !err.text[0] : trainer.step < 0 || trainer.step > model.cfg.steps || checkpoint_logged(&f) < 0)
        abort();
    safetensors_close(&f);
    return 0;
}
