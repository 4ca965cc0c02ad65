/* SPDX-License-Identifier: ISC */
/* attempts.c - everything that is tried at once, by each door. */
#include "ctl/doctor/attempts.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ctl/doctor/probe_host.h"
#include "ctl/say.h"

#include "common/banned.h"

#define WALL_MS 12000
#define PTYS    "40" /* more than a session has */
#define DISCARD 9    /* the port of a service that nobody has */

const char *const attempts_daemons[] = {
    "/run/dbus/system_bus_socket",
    "/run/systemd/private",
    "/run/systemd/notify",
    "/run/nscd/socket",
    "/run/docker.sock",
    "/run/atelier/core.sock",
    "/run/atelier/session.sock",
    "/run/atelier/admin.sock",
    "/run/atelier/api.sock",
    "/run/atelier/pam.sock",
    "/run/host/log",
    NULL,
};

const char *const attempts_secrets[] = {
    "/etc/shadow",
    "/etc/atelier/atelier.conf",
    "/var/lib/atelier/registry/registry.db",
    "/etc/ssh/ssh_host_ed25519_key",
    "/root/.bashrc",
    NULL,
};

const char *const attempts_left[] = {
    "/tmp/attack-left",
    "/var/tmp/attack-left",
    "/dev/shm/attack-left",
    ATELIER_HOMES_DIR "/doctor/.forward",
    NULL,
};

/* --- targets ------------------------------------------------------------------------------------
 */

__attribute__((format(printf, 2, 3))) static void target_add(struct targets *t, const char *format,
                                                             ...)
{
    va_list args;

    if (t->count == TARGETS_MAX)
        return;
    va_start(args, format);
    (void)vsnprintf(t->text[t->count++], TARGET_SIZE, format, args);
    va_end(args);
}

void targets_loopback(const struct bait *b, struct targets *ret)
{
    *ret = (struct targets){0};
    if (b->port4 != 0) {
        target_add(ret, "127.0.0.1:%u", b->port4);
        target_add(ret, "127.8.9.10:%u", b->port4);
        target_add(ret, "0.0.0.0:%u", b->port4);
        target_add(ret, "[::ffff:127.0.0.1]:%u", b->port4);
    }
    if (b->port6 != 0) {
        target_add(ret, "[::1]:%u", b->port6);
        target_add(ret, "[::]:%u", b->port6);
    }
}

void targets_own(const struct bait *b, struct targets *ret)
{
    *ret = (struct targets){0};
    for (uint32_t i = 0; b->port4 != 0 && i < b->own4_count; i++)
        target_add(ret, "%s:%u", b->own4[i], b->port4);
    if (b->port4 != 0 && b->own4_count > 0)
        target_add(ret, "[::ffff:%s]:%u", b->own4[0], b->port4);
    for (uint32_t i = 0; b->port6 != 0 && i < b->own6_count; i++)
        target_add(ret, "[%s]:%u", b->own6[i], b->port6);
}

/* RFC 1918, 3927, 6598, 6890, 2544, 1112; the second is where clouds have their metadata. */
void targets_private(struct targets *ret)
{
    static const char *const addresses[] = {
        "10.255.255.77",  "169.254.169.254", "172.31.255.77", "192.168.255.77",
        "100.127.255.77", "192.0.0.192",     "198.19.255.77", "240.0.0.77",
    };

    *ret = (struct targets){0};
    for (size_t i = 0; i < sizeof(addresses) / sizeof(addresses[0]); i++)
        target_add(ret, "lo/%s:%d", addresses[i], DISCARD);
    target_add(ret, "lo/[::ffff:10.255.255.77]:%d", DISCARD);
}

void targets_multicast(const struct bait *b, struct targets *ret)
{
    static const char *const addresses[] = {"224.0.0.251", "239.255.255.250", "255.255.255.255"};

    *ret = (struct targets){0};
    for (size_t i = 0; i < sizeof(addresses) / sizeof(addresses[0]); i++)
        target_add(ret, "lo/%s:%d", addresses[i], DISCARD);
    for (uint32_t i = 0; i < b->broadcast_count; i++)
        target_add(ret, "lo/%s:%d", b->broadcast[i], DISCARD);
}

/* --- the words
 * ------------------------------------------------------------------------------------ */

struct words {
    size_t count;
    const char *v[SESSION_PROBE_WORDS_MAX + 1];
};

static void word_add(struct words *w, const char *word)
{
    if (w->count < SESSION_PROBE_WORDS_MAX)
        w->v[w->count++] = word;
}

static void attack_add(struct words *w, const char *name)
{
    if (w->count > 0)
        word_add(w, "--");
    word_add(w, name);
}

static void targets_add(struct words *w, const char *name, const struct targets *t)
{
    if (t->count == 0)
        return;
    attack_add(w, name);
    for (size_t i = 0; i < t->count; i++)
        word_add(w, t->text[i]);
}

static void list_add(struct words *w, const char *name, const char *const *list)
{
    attack_add(w, name);
    for (; *list; list++)
        word_add(w, *list);
}

/* Targets live as long as the words. */
struct plan_of_attack {
    struct targets loopback, own, private, multicast;
    char victim[16], key[16];
    struct words words;
};

static void network_add(struct plan_of_attack *p, const struct bait *b, enum probe_door door)
{
    struct words *w = &p->words;

    targets_loopback(b, &p->loopback);
    targets_own(b, &p->own);
    targets_add(w, "tcp", &p->loopback);
    targets_add(w, "tcp", &p->own);
    targets_add(w, "udp", &p->loopback);
    targets_add(w, "udp", &p->own);
    if (door == PROBE_NONE)
        return;
    targets_private(&p->private);
    targets_multicast(b, &p->multicast);
    /* Whoever is let through waits for an answer: of all of them at once. */
    targets_add(w, "tcp", &p->private);
    word_add(w, TARGET_MAIL);
    word_add(w, TARGET_NO_MAIL);
    targets_add(w, "udp", &p->private);
    for (size_t i = 0; i < p->multicast.count; i++)
        word_add(w, p->multicast.text[i]);
}

/*
 * What the same uid may do unconfined, as a control. Of sockets only those that are part of any
 * kernel: the others would load modules into that of the host, which stay.
 */
static void common_add(struct plan_of_attack *p, const struct bait *b, enum probe_door door)
{
    static const char *const harmless[] = {
        "icmp", "udplite", "mptcp", "netlink-diag", "netlink-uevent", "netlink-generic", NULL};
    struct words *w = &p->words;

    attack_add(w, "calls");
    attack_add(w, "entries");
    if (door == PROBE_PLAIN) {
        list_add(w, "sockets", harmless);
    } else {
        attack_add(w, "sockets");
        attack_add(w, "families");
    }
    attack_add(w, "listen");
    attack_add(w, "setids");
    attack_add(w, "filecaps");
    attack_add(w, "self");
    attack_add(w, "links");
    list_add(w, "read", attempts_secrets);
    attack_add(w, "read");
    for (uint32_t i = 0; i < b->file_count; i++)
        word_add(w, b->files[i]);
    list_add(w, "connect", attempts_daemons);
    if (b->path_socket[0])
        word_add(w, b->path_socket);
    if (b->abstract_name[0]) {
        attack_add(w, "abstract");
        word_add(w, b->abstract_name);
    }
    if (b->has_shm) {
        (void)snprintf(p->key, sizeof(p->key), "%d", BAIT_SHM_KEY);
        attack_add(w, "shm");
        word_add(w, p->key);
    }
    if (b->queue[0]) {
        attack_add(w, "mqueue");
        word_add(w, b->queue);
    }
    if (b->victim > 0) {
        (void)snprintf(p->victim, sizeof(p->victim), "%d", b->victim);
        attack_add(w, "kill");
        word_add(w, p->victim);
        attack_add(w, "look");
        word_add(w, p->victim);
    }
}

static void confined_add(struct plan_of_attack *p, enum probe_door door)
{
    struct words *w = &p->words;

    attack_add(w, "jobs");
    attack_add(w, "mounts");
    attack_add(w, "descriptors");
    attack_add(w, "environment");
    attack_add(w, "core");
    attack_add(w, "ptys");
    word_add(w, PTYS);
    attack_add(w, "type");
    list_add(w, door == PROBE_NONE ? "leave" : "see", attempts_left);
    attack_add(w, "linger");
}

/* The victim's secret, the other way round: the attack's own arguments are no find. */
static void secret_turn(const struct bait *b, char ret_word[BAIT_WORD_SIZE])
{
    size_t len = strlen(b->secret);

    for (size_t i = 0; i < len; i++)
        ret_word[i] = b->secret[len - 1 - i];
    ret_word[len] = '\0';
}

/* --- doing it
 * --------------------------------------------------------------------------------------- */

const struct bait *attempts_bait(struct doctor *d, const char **ret_why)
{
    struct probe_host *p = probe_host_of(d);

    *ret_why = "no bait";
    /* One doctor at a time lays it out. */
    if (!p->bait && probe_terms(d, ret_why))
        p->bait = bait_lay(probe_uid(0), ret_why);
    return p->bait;
}

static struct said *said_not(const char *why)
{
    struct said *said = said_parse("");

    (void)snprintf(said->why, sizeof(said->why), "%s", why);
    return said;
}

static struct said *attempts_make(struct doctor *d, enum probe_door door)
{
    struct plan_of_attack *p = calloc(1, sizeof(*p));
    char secret[BAIT_WORD_SIZE];
    struct probe_request req = {.door = door, .wall_ms = WALL_MS};
    cleanup_probe struct probe_result result = {0};
    const struct bait *b;
    struct said *said;
    const char *why;

    if (!p)
        say_no_memory();
    b = attempts_bait(d, &why);
    if (!b) {
        free(p);
        return said_not(why);
    }
    /* What is unconfined falls under the network rules all the same: there root is the control. */
    if (door != PROBE_PLAIN)
        network_add(p, b, door);
    if (door != PROBE_ROOT) {
        common_add(p, b, door);
        secret_turn(b, secret);
        attack_add(&p->words, "arguments");
        word_add(&p->words, secret);
    }
    if (door != PROBE_ROOT && door != PROBE_PLAIN)
        confined_add(p, door);
    req.words = p->words.v;
    said = probe_run(d, &req, &result) < 0 ? said_not(result.why)
                                           : said_parse(result.output ? result.output : "");
    free(p);
    return said;
}

const struct said *attempts(struct doctor *d, enum probe_door door)
{
    struct probe_host *p = probe_host_of(d);

    if (!p->said[door])
        p->said[door] = attempts_make(d, door);
    return p->said[door];
}
