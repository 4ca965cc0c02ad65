/* SPDX-License-Identifier: ISC */
/* net_table.c - the table of policy/netcount.h in the kernel. */
#include "sessiond/monitor/net_table.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/fd.h"
#include "common/str.h"
#include "policy/netcount.h"
#include "sessiond/monitor/net_program.h"

#include "common/banned.h"

/* The kernel's, of this network namespace's sysctl; the limit is of the whole host. */
#define TABLE_SIZE_FILE "/proc/sys/net/netfilter/nf_conntrack_max"

/* FNV-1a, 64 bits: http://www.isthe.com/chongo/tech/comp/fnv/ */
static void digest_add(struct net_digest *d, const char *text)
{
    if (d->size == 0)
        d->hash = 14695981039346656037u;
    for (; *text; text++, d->size++)
        d->hash = (d->hash ^ (unsigned char)*text) * 1099511628211u;
}

static bool digest_is(const struct net_digest *a, const struct net_digest *b)
{
    return a->size == b->size && a->hash == b->hash;
}

struct sight {
    struct net_digest digest;
    bool is_inside; /* the lines of our table */
};

static void line_digest(void *arg, const char *line)
{
    struct sight *s = arg;

    if (strcmp(line, "table inet " NETCOUNT_TABLE " {\n") == 0)
        s->is_inside = true;
    if (s->is_inside)
        digest_add(&s->digest, line);
    if (line[0] == '}')
        s->is_inside = false;
}

const char *net_table_program(void)
{
    static const char *const places[2] = {"/usr/sbin/nft", "/sbin/nft"};

    return net_program_find(places);
}

/*
 * Neither what is counted nor who is in the sets. All tables of the family, because nft 1.0.6 reads
 * the sets to the end where it is asked for one: participants fill them, and could make of a look
 * of 10 ms one of 10 s, in which nobody watches over the rules (measured).
 *
 * Return: 0, -ENOENT (no nft), -ENODATA (no such table), -EPROTO, -errno.
 */
static int table_see(struct net_digest *ret_digest)
{
    const char *const argv[] = {net_table_program(), "-n",   "-s", "-t", "list",
                                "ruleset",           "inet", NULL};
    struct sight sight = {0};
    int r = net_program_read(argv, line_digest, &sight);

    *ret_digest = sight.digest;
    if (r != 0)
        return r > 0 ? -EPROTO : r;
    return sight.digest.size > 0 ? 0 : -ENODATA;
}

static int table_load(const char *text, bool is_quiet)
{
    const char *const argv[] = {net_table_program(), "-f", "-", NULL};

    return net_program_feed(argv, text, is_quiet);
}

/* 0: not known; then there is no limit of all users together. */
static uint32_t table_size(void)
{
    cleanup_close int fd = open(TABLE_SIZE_FILE, O_RDONLY | O_CLOEXEC);
    char text[16] = "";
    uint32_t size;
    size_t n;

    if (fd < 0 || fd_read_full(fd, text, sizeof(text) - 1, &n) < 0)
        return 0;
    text[strcspn(text, "\n")] = '\0';
    return str_to_u32(text, UINT32_MAX, &size) < 0 ? 0 : size;
}

static int text_make(const struct net_config *config, uint32_t connections, bool keeps_counts,
                     char **ret_text, bool *ret_whole)
{
    struct netcount_spec spec = {
        .connections = connections, .table_size = table_size(), .keeps_counts = keeps_counts};
    cleanup_free char *rules4 = NULL, *rules6 = NULL;
    struct net_room room;
    struct netrules_spec rules;
    int r;

    net_spec_make(config, &room, &rules);
    r = netrules_text(NETRULES_V4, &rules, &rules4);
    if (r == 0)
        r = netrules_text(NETRULES_V6, &rules, &rules6);
    if (r < 0)
        return r;
    spec.rules4 = rules4;
    spec.rules6 = rules6;
    return netcount_text(&spec, ret_text, ret_whole);
}

/* As net_look.c does it. */
static int normal_make(const char *text, struct net_digest *ret_normal)
{
    cleanup_close int host = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
    int r;

    if (host < 0 || unshare(CLONE_NEWNET) < 0)
        return -errno;
    r = table_load(text, false);
    if (r == 0)
        r = table_see(ret_normal);
    if (setns(host, CLONE_NEWNET) < 0)
        _exit(1);
    return r;
}

/* Load, and look. Return: 0, -EAGAIN (it was other again at once), or a negative errno. */
static int table_put(const char *text, bool is_quiet, struct net_table *t)
{
    struct net_digest seen;
    int r = table_load(text, is_quiet);

    if (r < 0)
        return r;
    t->was_loaded = true;
    r = table_see(&seen);
    if (r < 0)
        return r;
    return digest_is(&seen, &t->normal) ? 0 : -EAGAIN;
}

static int normal_keep(const char *text, struct net_table *t)
{
    struct net_digest wanted = {0};
    int r = 0;

    digest_add(&wanted, text);
    t->is_new = !digest_is(&wanted, &t->text);
    if (t->normal.size == 0 || t->is_new) {
        t->normal.size = 0;
        r = normal_make(text, &t->normal);
    }
    if (r == 0)
        t->text = wanted;
    return r;
}

static int table_keep(const struct net_config *config, uint32_t connections, struct net_table *t)
{
    cleanup_free char *text = NULL, *rules = NULL;
    struct net_digest seen;
    int r;

    if (!net_table_program())
        return -ENOENT;
    r = text_make(config, connections, false, &text, &t->is_whole);
    if (r == 0)
        r = normal_keep(text, t);
    if (r < 0)
        return r;
    r = table_see(&seen);
    t->was_there = r == 0;
    if (r == 0 && digest_is(&seen, &t->normal))
        return 0;
    if (r < 0 && r != -ENODATA)
        return r;
    if (t->was_there && t->held == connections) {
        r = text_make(config, connections, true, &rules, &t->is_whole);
        /* Where somebody has changed a set this is refused, or not enough. */
        if (r == 0 && table_put(rules, true, t) == 0)
            return 0;
    }
    t->was_reset = true;
    r = table_put(text, false, t);
    /* Or nft is another version by now. */
    if (r == -EAGAIN)
        t->normal.size = 0;
    return r;
}

void net_table_keep(const struct net_config *config, uint32_t connections, struct net_table *t)
{
    t->was_there = t->was_loaded = t->was_reset = t->is_new = t->is_whole = false;
    t->error = table_keep(config, connections, t);
    t->is_held = t->error == 0;
    t->held = t->is_held ? connections : 0;
}

int net_table_remove(void)
{
    int r = net_table_program() ? table_load(netcount_removal(), false) : 0;

    return r;
}
