#include "core/trained/interop_source.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/base/memory.h"

/* How the older format's one file, or each of its parts, begins. */
#define PICKLED "pytorch_model"

static int open_file(struct interop_source *s, const char *path, struct error *err)
{
    s->files = memory_resize(s->files, (size_t)s->count + 1, sizeof *s->files);
    int status = safetensors_open(&s->files[s->count], path, err);
    if (!status)
        s->count++;
    return status;
}

static const struct safetensors *file_named(const struct interop_source *s, const char *name)
{
    for (int i = 0; i < s->count; i++) {
        const char *slash = strrchr(s->files[i].path, '/');
        if (strcmp(slash ? slash + 1 : s->files[i].path, name) == 0)
            return &s->files[i];
    }
    return NULL;
}

static int open_shards(struct interop_source *s, const char *dir, struct error *err)
{
    struct faults f = {.err = err};
    const char *name;
    json_t *where;
    json_object_foreach(s->index, name, where)
    {
        const char *file = json_string_value(where);
        if (!file || strchr(file, '/')) {
            faults_add(&f, "%s: weight_map: %s: want the name of a file beside it", s->path, name);
            continue;
        }
        if (file_named(s, file))
            continue;
        char *path = file_join(dir, file);
        struct error one = {0};
        if (open_file(s, path, &one))
            faults_add(&f, "%s", one.text);
        free(path);
        if (f.count) /* a missing shard would be named again for each of its tensors */
            break;
    }
    if (!f.count)
        json_object_foreach(s->index, name, where) if (!safetensors_find(file_named(s, json_string_value(where)), name))
            faults_add(&f, "%s: tensor %s: not in %s, where the index has it", s->path, name, json_string_value(where));
    for (int i = 0; !f.count && i < s->count; i++)
        for (size_t t = 0; t < s->files[i].count; t++)
            if (!json_object_get(s->index, s->files[i].tensors[t].name))
                faults_add(&f, "%s: tensor %s: not in the index", s->files[i].path, s->files[i].tensors[t].name);
            else if (file_named(s, json_string_value(json_object_get(s->index, s->files[i].tensors[t].name))) !=
                     &s->files[i])
                faults_add(&f, "%s: tensor %s: also in another shard", s->files[i].path, s->files[i].tensors[t].name);
    return faults_end(&f);
}

static int open_index(struct interop_source *s, const char *dir, struct error *err)
{
    json_t *object;
    int status = json_file_read(s->path, &object, err);
    if (status)
        return status;
    s->index = json_incref(json_object_get(object, "weight_map"));
    json_decref(object);
    if (!json_is_object(s->index) || json_object_size(s->index) == 0)
        return error_set(err, STATUS_BAD_INPUT, "%s: want an object weight_map of tensors and their files", s->path);
    return open_shards(s, dir, err);
}

static bool ends_in(const char *name, const char *ending)
{
    const size_t length = strlen(name), end = strlen(ending);
    return length > end && strcmp(name + length - end, ending) == 0;
}

/* A file of weights in another format, on the heap: pytorch_model.bin or a part of it before all others; NULL when
 * there is none. */
static char *find_other(const char *dir)
{
    static const char *const endings[] = {".bin", ".pth", ".pt", ".gguf", ".ggml", ".h5", ".msgpack", ".onnx", ".ckpt"};
    DIR *d = opendir(dir);
    char *found = NULL;
    for (const struct dirent *e; d && (e = readdir(d));)
        for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++)
            if (ends_in(e->d_name, endings[i]) && (!found || strncmp(e->d_name, PICKLED, sizeof PICKLED - 1) == 0)) {
                free(found);
                found = memory_string(e->d_name);
            }
    if (d)
        closedir(d);
    return found;
}

static int refuse_others(const char *dir, struct error *err)
{
    char *found = find_other(dir);
    if (!found)
        error_set(err, STATUS_BAD_INPUT, "%s: want model.safetensors or model.safetensors.index.json", dir);
    else if (strncmp(found, PICKLED, sizeof PICKLED - 1) != 0)
        error_set(err, STATUS_BAD_INPUT, "%s: want model.safetensors or model.safetensors.index.json; %s is not read",
                  dir, found);
    else
        error_set(err, STATUS_BAD_INPUT,
                  "%s: want model.safetensors; %s is a pickle, which is a program. In %s, this converts it: python3 -c "
                  "\"import glob, torch, safetensors.torch as s; s.save_file({k: v.clone().contiguous() for f in "
                  "sorted(glob.glob('" PICKLED "*.bin')) for k, v in torch.load(f, weights_only=True).items()}, "
                  "'model.safetensors', {'format': 'pt'})\"",
                  dir, found, dir);
    free(found);
    return STATUS_BAD_INPUT;
}

int interop_source_open(struct interop_source *s, const char *dir, struct error *err)
{
    char *one = file_join(dir, "model.safetensors"), *index = file_join(dir, "model.safetensors.index.json");
    int status;
    *s = (struct interop_source){0};
    if (access(one, F_OK) == 0) {
        s->path = memory_string(one);
        status = open_file(s, one, err);
    } else if (access(index, F_OK) == 0) {
        s->path = memory_string(index);
        status = open_index(s, dir, err);
    } else {
        status = refuse_others(dir, err);
    }
    free(one);
    free(index);
    if (status)
        interop_source_close(s);
    return status;
}

void interop_source_close(struct interop_source *s)
{
    for (int i = 0; i < s->count; i++)
        safetensors_close(&s->files[i]);
    free(s->files);
    free(s->path);
    json_decref(s->index);
    *s = (struct interop_source){0};
}

const struct safetensors *interop_source_find(const struct interop_source *s, const char *name)
{
    for (int i = 0; i < s->count; i++)
        if (safetensors_find(&s->files[i], name))
            return &s->files[i];
    return NULL;
}
