#include "harness/page/http_library.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

static struct http_library http;
static struct error failure;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void load(void)
{
    const struct {
        const char *name;
        void *to;
    } symbols[] = {
        {"MHD_start_daemon", &http.start},
        {"MHD_stop_daemon", &http.stop},
        {"MHD_create_response_from_buffer", &http.from_buffer},
        {"MHD_create_response_from_callback", &http.from_callback},
        {"MHD_add_response_header", &http.add_header},
        {"MHD_queue_response", &http.queue},
        {"MHD_destroy_response", &http.destroy},
        {"MHD_lookup_connection_value", &http.lookup},
        {"MHD_get_connection_values", &http.values},
    };
    void *library = dlopen("libmicrohttpd.so.12", RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        error_set(&failure, STATUS_FAILED, "no page without libmicrohttpd: %s; ./setup.sh installs it", dlerror());
        return;
    }
    for (size_t i = 0; i < sizeof symbols / sizeof symbols[0]; i++) {
        void *symbol = dlsym(library, symbols[i].name);
        if (!symbol)
            error_set(&failure, STATUS_FAILED, "libmicrohttpd has no %s", symbols[i].name);
        memcpy(symbols[i].to, &symbol, sizeof symbol); /* ISO C has no cast from object to function */
    }
}

int http_library_open(const struct http_library **out, struct error *err)
{
    pthread_once(&once, load);
    *out = &http;
    if (failure.status && err)
        *err = failure;
    return failure.status;
}
