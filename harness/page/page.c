/* The server: connections, who may ask, and an answer for each question. */
#include "harness/page/page.h"

#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <jansson.h>

#include "core/base/memory.h"
#include "harness/base/options.h"
#include "harness/page/page_events.h"
#include "harness/page/page_internal.h"
#include "harness/results/table_text.h"

/* HEADER: all of a request's lines; one that is longer is refused. QUIET: seconds in which nothing comes. */
enum { CONNECTIONS = 64, HEADER_BYTES = 32768, QUIET_S = 20, STACK_BYTES = 1 << 20, NICE = 5 };

static const char cookie[] = "taper_page";

struct page {
    const struct http_library *http;
    const struct home *home;
    struct MHD_Daemon *server;
    struct page_readers *readers;
    struct page_events *events;
    struct page_address address;
    char machine[256], token[PAGE_TOKEN];
    char *url, *link;
};

/* A request as it comes in. */
struct question {
    struct page *page;
    struct MHD_Connection *connection;
    const char *path, *host;
};

/* What a browser is told with every answer: run nothing but the page's own script, tell nobody, show it in no frame. */
static const char policy[] = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
                             "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";
static const char *const headers[][2] = {
    {"X-Content-Type-Options", "nosniff"},
    {"X-Frame-Options", "DENY"},
    {"Referrer-Policy", "no-referrer"},
    {"Cross-Origin-Resource-Policy", "same-origin"},
    {"Cross-Origin-Opener-Policy", "same-origin"},
};

/* Queue an answer; bytes are on the heap and taken. */
static enum MHD_Result send_answer(const struct question *q, unsigned code, const char *type, const char *its_policy,
                                   int seconds, char *bytes, size_t size, const char *const more[2])
{
    const struct http_library *http = q->page->http;
    char keep[64];
    struct MHD_Response *r = http->from_buffer(size, bytes, MHD_RESPMEM_MUST_FREE);
    snprintf(keep, sizeof keep, seconds ? "private, max-age=%d" : "no-store", seconds);
    http->add_header(r, "Content-Type", type);
    http->add_header(r, "Content-Security-Policy", its_policy ? its_policy : policy);
    http->add_header(r, "Cache-Control", keep);
    for (size_t i = 0; i < sizeof headers / sizeof headers[0]; i++)
        http->add_header(r, headers[i][0], headers[i][1]);
    if (more)
        http->add_header(r, more[0], more[1]);
    enum MHD_Result result = http->queue(q->connection, code, r);
    http->destroy(r);
    return result;
}

/* A refusal or a fault, in the shape of what was asked for. */
static enum MHD_Result complain(const struct question *q, unsigned code, const char *text, const char *const more[2])
{
    char *bytes = NULL;
    size_t size = 0;
    bool json = strncmp(q->path, "/api/", 5) == 0;
    FILE *out = open_memstream(&bytes, &size);
    if (json) {
        json_t *all = json_pack("{s:s%}", "error", text, strlen(text));
        if (all)
            json_dumpf(all, out, 0);
        else
            fputs("{\"error\": \"(not UTF-8)\"}", out);
        json_decref(all);
        fputc('\n', out);
    } else {
        fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" "
              "content=\"width=device-width, initial-scale=1\">\n<title>taper</title>\n<link rel=\"stylesheet\" "
              "href=\"/assets/page.css\">\n</head>\n<body>\n<main>\n<h1>That did not work</h1>\n<p>",
              out);
        table_put_html(out, text);
        fputs("</p>\n<p><a href=\"/\">All sweeps</a></p>\n</main>\n</body>\n</html>\n", out);
    }
    fclose(out);
    return send_answer(q, code, json ? "application/json" : "text/html; charset=utf-8", NULL, 0, bytes, size, more);
}

/* ------------------------------------------------------------------------------------------ who may ask */

static const char *header(const struct question *q, const char *name)
{
    return q->page->http->lookup(q->connection, MHD_HEADER_KIND, name);
}

/* NULL when the request may be answered, else why not. */
static const char *refusal(const struct question *q)
{
    const struct page *p = q->page;
    const char *site = header(q, "Sec-Fetch-Site"), *mode = header(q, "Sec-Fetch-Mode");
    if (!page_host_allowed(q->host, p->address.loopback, p->machine))
        return "This page does not answer to the name in the address bar: use the address that taper printed.";
    if (!page_origin_allowed(header(q, "Origin"), q->host))
        return "Another site asked for this.";
    if (site && strcmp(site, "cross-site") == 0 && (!mode || strcmp(mode, "navigate") != 0))
        return "Another site asked for this.";
    return NULL;
}

/* The link was opened: keep its token as a cookie, and show the page without it in the address. */
static enum MHD_Result take_token(const struct question *q)
{
    char text[128 + PAGE_TOKEN];
    snprintf(text, sizeof text, "%s=%s; Path=/; HttpOnly; SameSite=Strict", cookie, q->page->token);
    const struct http_library *http = q->page->http;
    struct MHD_Response *r = http->from_buffer(0, "", MHD_RESPMEM_PERSISTENT);
    http->add_header(r, "Location", "/");
    http->add_header(r, "Set-Cookie", text);
    http->add_header(r, "Cache-Control", "no-store");
    http->add_header(r, "Referrer-Policy", "no-referrer");
    enum MHD_Result result = http->queue(q->connection, MHD_HTTP_SEE_OTHER, r);
    http->destroy(r);
    return result;
}

/* ------------------------------------------------------------------------------------------ answers */

const char *page_parameter(const struct page_call *c, const char *name)
{
    for (int i = 0; i < c->count; i++)
        if (strcmp(c->names[i], name) == 0)
            return c->values[i];
    return NULL;
}

int page_need(const struct page_call *c, const char *name, const char **value, struct error *err)
{
    *value = page_parameter(c, name);
    return *value && **value ? STATUS_OK : error_set(err, STATUS_BAD_INPUT, "the address lacks ?%s=", name);
}

int page_integer(const struct page_call *c, const char *name, long long low, long long high, long long fallback,
                 long long *out, struct error *err)
{
    const char *text = page_parameter(c, name);
    *out = fallback;
    return text ? options_integer(name, text, low, high, out, err) : STATUS_OK;
}

static enum MHD_Result add_parameter(void *call, enum MHD_ValueKind kind, const char *name, const char *value)
{
    struct page_call *c = call;
    (void)kind;
    if (c->count == PAGE_PARAMETERS)
        return MHD_NO;
    c->names[c->count] = name;
    c->values[c->count++] = value ? value : "";
    return MHD_YES;
}

int page_take_reader(struct page_call *c, struct error *err)
{
    return page_readers_take(c->page->readers, &c->reader, err);
}

static int make_answer(struct page_call *c, const struct page_route *route, struct error *err)
{
    int status = route->reads ? page_take_reader(c, err) : STATUS_OK;
    if (!status)
        status = route->answer(c, err);
    page_readers_give(c->page->readers, c->reader);
    return status;
}

static enum MHD_Result answer(const struct question *q)
{
    const struct page_route *route = page_route_find(q->path);
    struct page_call c = {.page = q->page, .home = q->page->home};
    struct error err = {0};
    char *bytes = NULL;
    size_t size = 0;
    if (!route)
        return complain(q, MHD_HTTP_NOT_FOUND, "There is nothing at this address.", NULL);
    c.type = route->type;
    q->page->http->values(q->connection, MHD_GET_ARGUMENT_KIND, add_parameter, &c);
    c.out = open_memstream(&bytes, &size);
    int status = make_answer(&c, route, &err);
    fclose(c.out);
    if (!status)
        return send_answer(q, MHD_HTTP_OK, c.type, c.policy, c.seconds, bytes, size, NULL);
    free(bytes);
    return complain(q, status == STATUS_BAD_INPUT ? MHD_HTTP_NOT_FOUND : MHD_HTTP_INTERNAL_SERVER_ERROR, err.text,
                    NULL);
}

/* A stream of news instead of a body that ends. */
static enum MHD_Result answer_events(const struct question *q)
{
    const struct http_library *http = q->page->http;
    struct MHD_Response *r = page_events_listen(q->page->events);
    if (!r)
        return complain(q, MHD_HTTP_SERVICE_UNAVAILABLE, "Too many windows are open.", NULL);
    http->add_header(r, "Content-Type", "text/event-stream");
    http->add_header(r, "Content-Security-Policy", policy);
    http->add_header(r, "Cache-Control", "no-store");
    for (size_t i = 0; i < sizeof headers / sizeof headers[0]; i++)
        http->add_header(r, headers[i][0], headers[i][1]);
    enum MHD_Result result = http->queue(q->connection, MHD_HTTP_OK, r);
    http->destroy(r);
    return result;
}

/* Trainings and the daemon come first on a busy machine. Of this thread alone, on Linux. */
static void yield_processor(void)
{
    static __thread bool done;
    if (!done)
        setpriority(PRIO_PROCESS, (id_t)gettid(), NICE);
    done = true;
}

static enum MHD_Result on_request(void *page, struct MHD_Connection *connection, const char *path, const char *method,
                                  const char *version, const char *body, size_t *body_size, void **seen)
{
    static int begun;
    struct page *p = page;
    struct question q = {p, connection, path, NULL};
    (void)version, (void)body;
    if (!*seen) { /* the headers are here, a body is not */
        *seen = &begun;
        return MHD_YES;
    }
    if (*body_size) /* none is wanted */
        return MHD_NO;
    yield_processor();
    q.host = header(&q, "Host");
    const char *why = refusal(&q);
    if (why)
        return complain(&q, MHD_HTTP_FORBIDDEN, why, NULL);
    if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0)
        return complain(&q, MHD_HTTP_METHOD_NOT_ALLOWED, "This page is only read.",
                        (const char *const[2]){"Allow", "GET, HEAD"});
    if (page_token_equal(p->http->lookup(connection, MHD_GET_ARGUMENT_KIND, "token"), p->token))
        return take_token(&q);
    if (!p->address.loopback && !page_token_equal(p->http->lookup(connection, MHD_COOKIE_KIND, cookie), p->token))
        return complain(&q, MHD_HTTP_UNAUTHORIZED,
                        "This page wants the link that taper printed when it began to serve: it holds a token.", NULL);
    return strcmp(path, "/events") == 0 ? answer_events(&q) : answer(&q);
}

/* ------------------------------------------------------------------------------------------ life */

static int listen_at(struct page_address *a, struct error *err)
{
    char text[PAGE_HOST];
    int yes = 1, fd = socket(a->at.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0)
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (fd < 0 || bind(fd, (struct sockaddr *)&a->at, a->size) != 0 || listen(fd, CONNECTIONS) != 0) {
        error_errno(err, STATUS_FAILED, errno, "--http: cannot listen at %s", page_address_text(a, text));
        if (fd >= 0)
            close(fd);
        return -1;
    }
    getsockname(fd, (struct sockaddr *)&a->at, &a->size); /* port 0 has become one */
    return fd;
}

/* Signals are for the thread that was there before: the server's start with all of them blocked. */
static struct MHD_Daemon *start_server(struct page *p, int listening)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    struct MHD_Daemon *server = p->http->start(
        MHD_USE_THREAD_PER_CONNECTION | MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_POLL | MHD_USE_ITC, 0, NULL, NULL,
        on_request, p, MHD_OPTION_LISTEN_SOCKET, listening, MHD_OPTION_CONNECTION_LIMIT, (unsigned)CONNECTIONS,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)HEADER_BYTES, MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)QUIET_S,
        MHD_OPTION_THREAD_STACK_SIZE, (size_t)STACK_BYTES, MHD_OPTION_END);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return server;
}

static void name_page(struct page *p)
{
    char text[PAGE_HOST];
    gethostname(p->machine, sizeof p->machine - 1);
    page_token_make(p->token);
    p->url = memory_format("http://%s/", page_address_text(&p->address, text));
    p->link = p->address.loopback ? memory_string(p->url) : memory_format("%s?token=%s", p->url, p->token);
}

int page_start(struct page **out, const struct home *home, const char *address, struct error *err)
{
    struct page *p = memory_alloc(1, sizeof *p);
    p->home = home;
    *out = NULL;
    int listening = -1, status = page_address_parse(&p->address, address && *address ? address : PAGE_ADDRESS, err);
    if (!status)
        status = http_library_open(&p->http, err);
    if (!status && (listening = listen_at(&p->address, err)) < 0)
        status = STATUS_FAILED;
    if (!status) {
        name_page(p);
        p->readers = page_readers_create(home);
        status = page_events_create(&p->events, p->http, p->readers, err);
        if (!status && !(p->server = start_server(p, listening)))
            status = error_set(err, STATUS_FAILED, "--http: libmicrohttpd does not start");
        if (status)
            close(listening);
    }
    if (status) {
        page_stop(p);
        return status;
    }
    *out = p;
    return STATUS_OK;
}

void page_stop(struct page *p)
{
    if (!p)
        return;
    if (p->events)
        page_events_end(p->events);
    if (p->server)
        p->http->stop(p->server);
    page_events_destroy(p->events);
    page_readers_destroy(p->readers);
    free(p->url);
    free(p->link);
    free(p);
}

const char *page_link(const struct page *p)
{
    return p->link;
}

const char *page_url(const struct page *p)
{
    return p->url;
}
