/* SPDX-License-Identifier: ISC */
/* url.c - the link as text, and what it may begin with. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "magic-link/magic_link.h"

#include "common/banned.h"

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGITS  "0123456789"
/* RFC 3986 3.3, pchar and '/', without the quotes and brackets that mail programs cut links at. */
#define PATH_CHARACTERS LETTERS DIGITS "-._~%!$&*+,;=:@/"

/* What follows "http://" or "https://", or NULL. */
static const char *authority_of(const char *base)
{
    static const char *const schemes[] = {"https://", "http://"};

    for (size_t i = 0; i < sizeof(schemes) / sizeof(schemes[0]); i++) {
        if (strncmp(base, schemes[i], strlen(schemes[i])) == 0)
            return base + strlen(schemes[i]);
    }
    return NULL;
}

/* Length of a host name or of an address, the IPv6 one in brackets; 0 if there is none. */
static size_t host_length(const char *s)
{
    size_t n;

    if (s[0] != '[') {
        n = strspn(s, LETTERS DIGITS ".-");
        return s[0] == '.' || s[0] == '-' ? 0 : n;
    }
    n = strspn(s + 1, DIGITS "abcdefABCDEF:.");
    return n > 0 && s[n + 1] == ']' ? n + 2 : 0;
}

/* Length of ":PORT", 0 if there is none or it is not valid. */
static size_t port_length(const char *s)
{
    size_t n = s[0] == ':' ? strspn(s + 1, DIGITS) : 0;
    char digits[6];
    uint32_t port;

    if (n == 0 || n >= sizeof(digits))
        return 0;
    memcpy(digits, s + 1, n);
    digits[n] = '\0';
    return str_to_u32(digits, UINT16_MAX, &port) == 0 && port > 0 ? n + 1 : 0;
}

bool magic_link_base_is_valid(const char *base)
{
    const char *at = base ? authority_of(base) : NULL;
    size_t n;

    /* With "/#" and a token it must fit into LINK_URL_SIZE. */
    if (!at || strlen(base) + 2 + TOKEN_TEXT_SIZE > LINK_URL_SIZE)
        return false;
    n = host_length(at);
    if (n == 0)
        return false;
    at += n;
    at += port_length(at);
    return at[0] == '\0' || (at[0] == '/' && at[strspn(at, PATH_CHARACTERS)] == '\0');
}

int magic_link_url(const char *base, const char *token, char *ret_url, size_t size)
{
    const char *host = authority_of(base);
    /* A path is kept as it is given; without one it is "/". */
    const char *slash = host && strchr(host, '/') ? "" : "/";

    if (strlen(base) + strlen(slash) + 1 + strlen(token) + 1 > size)
        return -ENAMETOOLONG;
    (void)snprintf(ret_url, size, "%s%s#%s", base, slash, token);
    return 0;
}
