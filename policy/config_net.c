/* SPDX-License-Identifier: ISC */
/*
 * config_net.c - section network: what it says, and what has to fit together.
 *
 * Nothing that is allowed can be refused: whoever writes such a thing believes that it is open.
 * Networks may be refused in part; a refusal comes first, in the rules as well.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "policy/config_draft.h"

#include "common/banned.h"

#define FAULT(fault, ...) ((void)snprintf((fault), PREFIX_FAULT_SIZE, __VA_ARGS__), -EINVAL)

#define LABEL_MAX 63u /* RFC 1035, 2.3.4 */

/* --- destinations -------------------------------------------------------------------------- */

/* ASCII alone, whatever the locale. */
static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Letters, digits and '-', which is neither first nor last. RFC 1123, 2.1. */
static bool is_label(const char *at, size_t n)
{
    if (n == 0 || n > LABEL_MAX || at[0] == '-' || at[n - 1] == '-')
        return false;
    for (size_t i = 0; i < n; i++) {
        if (!is_letter(at[i]) && !is_digit(at[i]) && at[i] != '-')
            return false;
    }
    return true;
}

/* Two labels at least, and the last with a letter: "1.2.3" is a mistake. Return: 0 or -EINVAL. */
static int host_parse(const char *text, size_t n, struct policy_allow *allow, char *fault)
{
    size_t labels = 0, size;
    bool has_letter = false;

    for (size_t i = 0; i < n; i++) {
        if ((unsigned char)text[i] >= 0x80)
            return FAULT(fault, "'%.40s' is not ASCII: write its form that begins with xn--", text);
    }
    if (strstr(text, "://"))
        return FAULT(fault, "'%.60s' is a URL: write the name of its host", text);
    if (memchr(text, '*', n))
        return FAULT(fault, "'%.60s': a * cannot be looked up; list the names", text);
    if (n == 0 || n >= POLICY_HOST_SIZE)
        return FAULT(fault, "'%.60s' is no name of a host", text);
    for (const char *at = text; at <= text + n; at += size + 1) {
        const char *dot = memchr(at, '.', (size_t)(text + n - at));

        size = dot ? (size_t)(dot - at) : (size_t)(text + n - at);
        if (!is_label(at, size))
            return FAULT(fault, "'%.60s' is no address and no name of a host", text);
        labels++;
        has_letter = false;
        for (size_t i = 0; i < size; i++)
            has_letter = has_letter || is_letter(at[i]);
    }
    if (!has_letter)
        return FAULT(fault, "'%.60s' is no address and no name of a host", text);
    if (labels < 2)
        return FAULT(fault, "'%.60s': a name needs its domain", text);
    for (size_t i = 0; i < n; i++)
        allow->host[i] = is_letter(text[i]) ? (char)(text[i] | 0x20) : text[i];
    return 0;
}

/* Return: 0, or -EINVAL for what is no port. */
static int port_parse(const char *text, const char *port, struct policy_allow *allow, char *fault)
{
    uint32_t v = 0;

    if (str_to_u32(port, UINT16_MAX, &v) < 0 || v == 0)
        return FAULT(fault, "'%.60s': a port is a number from 1 to 65535", text);
    if (v == 25)
        return FAULT(fault, "'%.60s': port 25 is refused for everybody", text);
    allow->port = (uint16_t)v;
    return 0;
}

/* "[V6]" or "[V6]:PORT". */
static int bracket_parse(const char *text, struct policy_allow *allow, char *fault)
{
    const char *end = strchr(text, ']');
    char address[PREFIX_TEXT_SIZE] = "";
    int r;

    if (!end || (size_t)(end - text) > sizeof(address) || (end[1] != ':' && end[1] != '\0'))
        return FAULT(fault, "'%.60s' is not [address]:port", text);
    memcpy(address, text + 1, (size_t)(end - text) - 1);
    if (!strchr(address, ':'))
        return FAULT(fault, "'%.60s': in [] are addresses of IPv6", text);
    r = prefix_parse(address, &allow->prefix, fault);
    return r == 0 && end[1] == ':' ? port_parse(text, end + 2, allow, fault) : r;
}

/* It looks like one: no letter, or more than one colon. */
static bool is_numeric(const char *text)
{
    const char *colon = strchr(text, ':');

    if (colon && strchr(colon + 1, ':'))
        return true;
    return text[0] != '\0' && strspn(text, "0123456789./:") == strlen(text);
}

static int address_parse(const char *text, struct policy_allow *allow, char *fault)
{
    const char *colon = strchr(text, ':');
    char address[PREFIX_TEXT_SIZE] = "";
    size_t n;
    int r;

    if (!colon || strchr(colon + 1, ':')) /* IPv6 without brackets has no port */
        return prefix_parse(text, &allow->prefix, fault);
    n = (size_t)(colon - text);
    if (n >= sizeof(address))
        return FAULT(fault, "'%.60s' is no address and no network", text);
    memcpy(address, text, n);
    r = prefix_parse(address, &allow->prefix, fault);
    return r == 0 ? port_parse(text, colon + 1, allow, fault) : r;
}

int policy_allow_parse(const char *text, struct policy_allow *ret_allow,
                       char ret_fault[PREFIX_FAULT_SIZE])
{
    const char *colon = strchr(text, ':'), *refused;
    struct policy_allow allow = {0};
    int r;

    if (text[0] == '[') {
        r = bracket_parse(text, &allow, ret_fault);
    } else if (is_numeric(text)) {
        r = address_parse(text, &allow, ret_fault);
    } else {
        r = host_parse(text, colon ? (size_t)(colon - text) : strlen(text), &allow, ret_fault);
        if (r == 0 && colon)
            r = port_parse(text, colon + 1, &allow, ret_fault);
    }
    if (r < 0)
        return r;
    refused = allow.host[0] == '\0' ? prefix_refused(&allow.prefix) : NULL;
    if (refused)
        return FAULT(ret_fault, "'%.50s' is refused for everybody (%.60s)", text, refused);
    *ret_allow = allow;
    return 0;
}

void policy_allow_text(const struct policy_allow *allow, char ret_text[POLICY_ALLOW_TEXT_SIZE])
{
    char prefix[PREFIX_TEXT_SIZE];
    const char *what = allow->host;
    bool has_brackets = false;

    if (allow->host[0] == '\0') {
        prefix_text(&allow->prefix, prefix);
        what = prefix;
        has_brackets = allow->prefix.is_v6 && allow->port > 0;
    }
    if (allow->port > 0)
        (void)snprintf(ret_text, POLICY_ALLOW_TEXT_SIZE, "%s%s%s:%u", has_brackets ? "[" : "", what,
                       has_brackets ? "]" : "", allow->port);
    else
        (void)snprintf(ret_text, POLICY_ALLOW_TEXT_SIZE, "%s", what);
}

/* --- values -------------------------------------------------------------------------------- */

static bool is_same_allow(const struct policy_allow *a, const struct policy_allow *b)
{
    return a->port == b->port && strcmp(a->host, b->host) == 0 &&
           prefix_is_same(&a->prefix, &b->prefix);
}

static int deny_take(struct config_net_draft *net, uint32_t index, const char *text, char *fault)
{
    struct prefix p;
    int r = prefix_parse(text, &p, fault);

    if (r < 0)
        return r;
    for (uint32_t i = 0; i < index; i++) {
        if (prefix_is_same(&net->said.deny[i], &p))
            return FAULT(fault, "'%.60s' is there twice", text);
    }
    net->said.deny[index] = p;
    return 0;
}

static int allow_take(struct config_net_draft *net, uint32_t index, const char *text, char *fault)
{
    struct policy_allow allow;
    int r = policy_allow_parse(text, &allow, fault);

    if (r < 0)
        return r;
    for (uint32_t i = 0; i < index; i++) {
        if (is_same_allow(&net->said.allow[i], &allow))
            return FAULT(fault, "'%.60s' is there twice", text);
    }
    net->said.allow[index] = allow;
    return 0;
}

static void deny_cut(struct policy_net *net, uint32_t count)
{
    memset(net->deny + count, 0, (POLICY_DENY_MAX - count) * sizeof(net->deny[0]));
    net->deny_count = count;
}

static void allow_cut(struct policy_net *net, uint32_t count)
{
    memset(net->allow + count, 0, (POLICY_ALLOW_MAX - count) * sizeof(net->allow[0]));
    net->allow_count = count;
}

/* Return: 0 for the first, 1 for the second, -EINVAL. */
static int choice_take(const char *text, const char *first, const char *second, char *fault)
{
    if (strcmp(text, first) == 0)
        return 0;
    if (strcmp(text, second) == 0)
        return 1;
    return FAULT(fault, "'%.40s' is neither %s nor %s", text, first, second);
}

static int count_take(enum policy_net_key key, const char *text, uint32_t *ret_v, char *fault)
{
    const struct policy_net_key_info *k = &policy_net_keys[key];
    int r = str_to_u32(text, k->most, ret_v);

    if (r == -ERANGE)
        return FAULT(fault, "more than %u is not possible", k->most);
    if (r < 0)
        return FAULT(fault, "'%.40s' is not a whole number", text);
    if (*ret_v < k->least)
        return FAULT(fault, "less than %u is not possible", k->least);
    return 0;
}

static int list_take(struct config_drafts *d, enum policy_net_key key, uint32_t index,
                     const char *text, struct config_place at, char *fault)
{
    struct config_net_draft *net = &d->net;
    bool is_deny = key == POLICY_NET_KEY_DENY;
    int r;

    if (index >= policy_net_keys[key].most)
        return FAULT(fault, "more than %u entries", policy_net_keys[key].most);
    r = is_deny ? deny_take(net, index, text, fault) : allow_take(net, index, text, fault);
    if (r < 0)
        return r;
    if (is_deny)
        deny_cut(&net->said, index + 1);
    else
        allow_cut(&net->said, index + 1);
    *(is_deny ? &net->deny_at[index] : &net->allow_at[index]) = at;
    return 0;
}

int config_net_value(struct config_drafts *d, enum policy_net_key key, uint32_t index,
                     const char *text, struct config_place at)
{
    struct policy_net *said = &d->net.said;
    char fault[PREFIX_FAULT_SIZE] = "there is no value";
    uint32_t v = 0;
    int r = -EINVAL;

    switch (text ? policy_net_keys[key].type : POLICY_NET_COUNT) {
    case POLICY_NET_NETWORKS:
    case POLICY_NET_DESTINATIONS:
        r = list_take(d, key, index, text, at, fault);
        break;
    case POLICY_NET_YES_NO:
        r = choice_take(text, "false", "true", fault);
        if (r >= 0)
            said->deny_on_link = r == 1;
        break;
    case POLICY_NET_EGRESS:
        r = choice_take(text, "public", "listed", fault);
        if (r >= 0)
            said->egress = r == 1 ? POLICY_EGRESS_LISTED : POLICY_EGRESS_PUBLIC;
        break;
    case POLICY_NET_COUNT:
        r = text ? count_take(key, text, &v, fault) : -EINVAL;
        if (r == 0)
            said->connections = v;
        break;
    }
    if (r < 0)
        return config_fault(d, at, "network: %s: %s", policy_net_keys[key].name, fault);
    d->net.at[key] = at;
    return 0;
}

void config_net_clear(struct config_drafts *d, enum policy_net_key key, struct config_place at)
{
    if (key == POLICY_NET_KEY_DENY)
        deny_cut(&d->net.said, 0);
    else if (key == POLICY_NET_KEY_ALLOW)
        allow_cut(&d->net.said, 0);
    d->net.at[key] = at;
}

/* --- what has to fit together -------------------------------------------------------------- */

int config_net_join(struct config_drafts *d, struct policy_net *ret_net)
{
    const struct policy_net *said = &d->net.said;
    const char *name = policy_net_keys[POLICY_NET_KEY_ALLOW].name;

    for (uint32_t i = 0; i < said->allow_count; i++) {
        for (uint32_t k = 0; said->allow[i].host[0] == '\0' && k < said->deny_count; k++) {
            char allow[POLICY_ALLOW_TEXT_SIZE], deny[PREFIX_TEXT_SIZE];

            if (!prefix_is_within(&said->allow[i].prefix, &said->deny[k]))
                continue;
            policy_allow_text(&said->allow[i], allow);
            prefix_text(&said->deny[k], deny);
            return config_fault(d, d->net.allow_at[i],
                                "network: %s: '%s' is refused by deny, which has %s", name, allow,
                                deny);
        }
    }
    /* Whoever lists something believes that the rest is closed. */
    if (said->allow_count > 0 && said->egress != POLICY_EGRESS_LISTED)
        return config_fault(d, d->net.allow_at[0],
                            "network: %s: it counts with egress = listed only", name);
    *ret_net = *said;
    return 0;
}
