#include "harness/page/page_guard.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <sodium.h>

static int bad_address(const char *text, const char *why, struct error *err)
{
    return error_set(err, STATUS_BAD_INPUT, "--http: want ADDR:PORT, as in %s or [::1]:8787, got '%.80s'%s",
                     PAGE_ADDRESS, text, why);
}

/* Decimal digits alone; -1 when it is no port. */
static long port_of(const char *text)
{
    size_t length = strlen(text);
    if (length == 0 || length > 5 || strspn(text, "0123456789") != length)
        return -1;
    long port = strtol(text, NULL, 10);
    return port <= 65535 ? port : -1;
}

int page_address_parse(struct page_address *out, const char *text, struct error *err)
{
    char host[INET6_ADDRSTRLEN + 1] = "127.0.0.1";
    const char *colon = strrchr(text, ':'), *port = colon ? colon + 1 : text;
    bool six = text[0] == '[';
    *out = (struct page_address){0};
    if (colon) {
        const char *from = text + six, *to = colon - six;
        if (to <= from || (size_t)(to - from) >= sizeof host || (six && *to != ']'))
            return bad_address(text, "", err);
        snprintf(host, sizeof host, "%.*s", (int)(to - from), from);
        if (strcmp(host, "localhost") == 0)
            snprintf(host, sizeof host, "%s", six ? "::1" : "127.0.0.1");
    }
    long number = port_of(port);
    if (number < 0)
        return bad_address(text, ": no port from 0 to 65535", err);
    struct sockaddr_in *v4 = (struct sockaddr_in *)&out->at;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&out->at;
    if (!six && inet_pton(AF_INET, host, &v4->sin_addr) == 1) {
        v4->sin_family = AF_INET;
        v4->sin_port = htons((uint16_t)number);
        out->size = sizeof *v4;
        out->loopback = (ntohl(v4->sin_addr.s_addr) >> 24) == 127;
        return STATUS_OK;
    }
    if (six && inet_pton(AF_INET6, host, &v6->sin6_addr) == 1) {
        v6->sin6_family = AF_INET6;
        v6->sin6_port = htons((uint16_t)number);
        out->size = sizeof *v6;
        out->loopback = IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr);
        return STATUS_OK;
    }
    return bad_address(text, ": the address is a number", err);
}

char *page_address_text(const struct page_address *a, char *to)
{
    char host[INET6_ADDRSTRLEN] = "";
    const struct sockaddr_in *v4 = (const struct sockaddr_in *)&a->at;
    const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)&a->at;
    bool six = a->at.ss_family == AF_INET6;
    inet_ntop(a->at.ss_family, six ? (const void *)&v6->sin6_addr : (const void *)&v4->sin_addr, host, sizeof host);
    snprintf(to, PAGE_HOST, six ? "[%s]:%u" : "%s:%u", host, (unsigned)ntohs(six ? v6->sin6_port : v4->sin_port));
    return to;
}

/* The name of "NAME", "NAME:PORT", "[SIX]" or "[SIX]:PORT", without brackets. False where it is none of these. */
static bool split_host(const char *host, char name[PAGE_HOST], bool *six)
{
    *six = host[0] == '[';
    size_t length = *six ? strcspn(host, "]") : strcspn(host, ":");
    const char *rest = host + length + (*six && host[length] == ']');
    if (length == 0 || length >= PAGE_HOST || (*six && host[length] != ']'))
        return false;
    if (*rest && (*rest != ':' || port_of(rest + 1) < 0))
        return false;
    snprintf(name, PAGE_HOST, "%.*s", (int)(length - *six), host + *six);
    return name[0] != '\0';
}

bool page_host_allowed(const char *host, bool loopback, const char *machine)
{
    char name[PAGE_HOST];
    struct in_addr v4;
    struct in6_addr v6;
    bool six;
    if (!host || !split_host(host, name, &six))
        return false;
    if (six)
        return inet_pton(AF_INET6, name, &v6) == 1 && (!loopback || IN6_IS_ADDR_LOOPBACK(&v6));
    if (strcasecmp(name, "localhost") == 0)
        return true;
    if (inet_pton(AF_INET, name, &v4) == 1)
        return !loopback || (ntohl(v4.s_addr) >> 24) == 127;
    size_t own = strcspn(machine, "."); /* of its name as the machine has it, the first part */
    return !loopback && own > 0 && strncasecmp(name, machine, own) == 0 && (name[own] == '\0' || name[own] == '.');
}

bool page_origin_allowed(const char *origin, const char *host)
{
    static const char scheme[] = "http://";
    return !origin ||
           (strncmp(origin, scheme, sizeof scheme - 1) == 0 && strcasecmp(origin + sizeof scheme - 1, host) == 0);
}

void page_token_make(char to[PAGE_TOKEN])
{
    unsigned char bytes[(PAGE_TOKEN - 1) / 2];
    randombytes_buf(bytes, sizeof bytes);
    sodium_bin2hex(to, PAGE_TOKEN, bytes, sizeof bytes);
}

bool page_token_equal(const char *given, const char token[PAGE_TOKEN])
{
    return given && strlen(given) == PAGE_TOKEN - 1 && sodium_memcmp(given, token, PAGE_TOKEN - 1) == 0;
}
