#include "harness/base/libraries.h"

#include <dlfcn.h>
#include <gnu/libc-version.h>
#include <stdio.h>
#include <string.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <sodium.h>
#include <sqlite3.h>
#include <uv.h>
#include <xxhash.h>
#include <yaml.h>
#include <zlib.h>

static void add(json_t *object, const char *name, const char *version)
{
    json_t *text = version ? json_string(version) : NULL;
    if (text)
        json_object_set_new(object, name, text);
}

json_t *libraries_json(void)
{
    json_t *object = json_object();
    char pcre[64] = "", xxhash[32];
    add(object, "glibc", gnu_get_libc_version());
    add(object, "sqlite", sqlite3_libversion());
    add(object, "libuv", uv_version_string());
    add(object, "jansson", jansson_version_str());
    add(object, "libsodium", sodium_version_string());
    add(object, "libyaml", yaml_get_version_string());
    add(object, "zlib", zlibVersion());
    unsigned number = XXH_versionNumber();
    snprintf(xxhash, sizeof xxhash, "%u.%u.%u", number / 10000, number / 100 % 100, number % 100);
    add(object, "xxhash", xxhash);
    if (pcre2_config(PCRE2_CONFIG_VERSION, pcre) > 0)
        add(object, "pcre2", pcre);
    /* The workers open it when they need it (core/cpu/gemm.c); whoever records runs opens it once, to ask. */
    char *(*openblas)(void) = NULL;
    void *library = dlopen("libopenblas.so.0", RTLD_NOW),
         *symbol = library ? dlsym(library, "openblas_get_config") : NULL;
    memcpy(&openblas, &symbol, sizeof symbol);
    if (openblas)
        add(object, "openblas", openblas());
    return object;
}

char *libraries_text(void)
{
    json_t *object = libraries_json();
    char *text = json_dumps(object, JSON_COMPACT | JSON_SORT_KEYS);
    json_decref(object);
    return text;
}
