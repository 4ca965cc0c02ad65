/* SPDX-License-Identifier: ISC */
/*
 * policy.h - the policy of a host: what runs and sessions of whom get, read from files.
 *
 * Pure data. Files are DIR/atelier.conf and DIR/conf.d/<name>.conf in the order of their names; for
 * each key of a section the last one counts. Where nothing is said, what is shipped holds: the
 * columns of POLICY_KEYS. Reading is all or nothing: the first thing that is wrong is named with
 * its file and line, and nothing is changed.
 *
 * Numbers only, no names of users: whoever reads this for sessiond asks no NSS.
 */
#ifndef ATELIER_POLICY_H
#define ATELIER_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "common/skill.h"
#include "common/str.h"
#include "common/wire.h"
#include "policy/prefix.h"

#define POLICY_PROFILES_MAX 64u
#define POLICY_TREES_MAX    8u
#define POLICY_SKILLS_MAX   8u
#define POLICY_IDS_MAX      64u
#define POLICY_TREE_SIZE    128u

/* What a profile is for. Bits, so that a key can be of several. */
#define POLICY_OF_RUN   1u
#define POLICY_OF_LOGIN 2u
#define POLICY_OF_USER  4u

/* The shipped profiles, which are sections of their own. USER: all runs and sessions of one user
 * together. */
#define POLICY_KINDS(X)                                                                            \
    X(RUN, "run")                                                                                  \
    X(LOGIN, "login")                                                                              \
    X(USER, "user")

enum policy_kind {
#define POLICY_KIND_ENUM(id, name) POLICY_##id,
    POLICY_KINDS(POLICY_KIND_ENUM)
#undef POLICY_KIND_ENUM
        POLICY_KIND__COUNT,
};

enum policy_type {
    POLICY_BYTES,    /* "512M"; K, M, G, T are powers of 1024; whole pages of any machine: 64K */
    POLICY_KIB,      /* the same in steps of 1K */
    POLICY_COUNT,    /* "128" */
    POLICY_CPU,      /* "1.5" processors; kept in hundredths */
    POLICY_TIME,     /* "30s", also ms, min, h; kept in milliseconds */
    POLICY_TIME_CPU, /* the same in whole seconds, or "none" (0): no limit */
    POLICY_RATE,     /* bytes a second as POLICY_KIB, or "none" (0): no limit */
};

#define POLICY_KI 1024ull
#define POLICY_MI (1024ull * POLICY_KI)
#define POLICY_GI (1024ull * POLICY_MI)
#define POLICY_TI (1024ull * POLICY_GI)

/*
 * One table for parser, bounds, defaults, `--show-policy`, data/atelier.conf.example and the
 * manual.
 *
 * X(id, key, type, kinds, least, most, of run, of login, of user, what it limits). "Most" are hard
 * maxima: no file goes beyond them. 8192 descriptors are what sessiond itself has; an hour is what
 * fits into its timers (WIRE_WALL_MS_MAX).
 */
#define POLICY_KEYS(X)                                                                             \
    X(MEMORY, "memory", POLICY_BYTES, 7u, 16 * POLICY_MI, 256 * POLICY_GI, 512 * POLICY_MI,        \
      1024 * POLICY_MI, 1536 * POLICY_MI, "memory, with what is in temporary file systems")        \
    X(PIDS, "pids", POLICY_COUNT, 7u, 16, 16384, 128, 256, 448, "processes and threads")           \
    X(CPU, "cpu", POLICY_CPU, 3u, 5, 102400, 100, 100, 0, "processors, as a cap")                  \
    X(WALL, "wall", POLICY_TIME, 1u, 100, 3600000, 30000, 0, 0,                                    \
      "time of a run that asks for none")                                                          \
    X(WALL_MAX, "wall_max", POLICY_TIME, 1u, 100, 3600000, 600000, 0, 0,                           \
      "time that a run may ask for")                                                               \
    X(CPU_TIME, "cpu_time", POLICY_TIME_CPU, 1u, 1000, 3600000, 0, 0, 0,                           \
      "processor time of a run that asks for none")                                                \
    X(CPU_TIME_MAX, "cpu_time_max", POLICY_TIME_CPU, 1u, 1000, 3600000, 0, 0, 0,                   \
      "processor time that a run may ask for")                                                     \
    X(OUTPUT, "output", POLICY_KIB, 1u, POLICY_KI, 16 * POLICY_MI, 1024 * POLICY_KI, 0, 0,         \
      "output that is passed on of a run that asks for none")                                      \
    X(OUTPUT_MAX, "output_max", POLICY_KIB, 1u, POLICY_KI, 16 * POLICY_MI, 16 * POLICY_MI, 0, 0,   \
      "output that a run may ask for")                                                             \
    X(TMP, "tmp", POLICY_BYTES, 3u, POLICY_MI, 256 * POLICY_GI, 128 * POLICY_MI, 256 * POLICY_MI,  \
      0, "size of /tmp")                                                                           \
    X(TMP_FILES, "tmp_files", POLICY_COUNT, 3u, 16, 4194304, 32768, 65536, 0,                      \
      "files and directories in /tmp")                                                             \
    X(VAR_TMP, "var_tmp", POLICY_BYTES, 3u, POLICY_MI, 256 * POLICY_GI, 32 * POLICY_MI,            \
      64 * POLICY_MI, 0, "size of /var/tmp")                                                       \
    X(VAR_TMP_FILES, "var_tmp_files", POLICY_COUNT, 3u, 16, 4194304, 8192, 16384, 0,               \
      "files and directories in /var/tmp")                                                         \
    X(SHM, "shm", POLICY_BYTES, 3u, POLICY_MI, 256 * POLICY_GI, 64 * POLICY_MI, 64 * POLICY_MI, 0, \
      "size of /dev/shm")                                                                          \
    X(SHM_FILES, "shm_files", POLICY_COUNT, 3u, 16, 4194304, 4096, 4096, 0,                        \
      "files and directories in /dev/shm")                                                         \
    X(HOME, "home", POLICY_BYTES, 1u, POLICY_MI, 256 * POLICY_GI, 128 * POLICY_MI, 0, 0,           \
      "size of the home of a run, without ~/work")                                                 \
    X(HOME_FILES, "home_files", POLICY_COUNT, 1u, 64, 4194304, 32768, 0, 0,                        \
      "files and directories in it")                                                               \
    X(NOFILE, "nofile", POLICY_COUNT, 3u, 64, 8192, 4096, 4096, 0, "open files of each process")   \
    X(FSIZE, "fsize", POLICY_BYTES, 3u, POLICY_MI, POLICY_TI, 1024 * POLICY_MI, 1024 * POLICY_MI,  \
      0, "size of each file that is written")                                                      \
    X(DISK, "disk", POLICY_BYTES, 4u, 16 * POLICY_MI, 64 * POLICY_TI, 0, 0, 2 * POLICY_GI,         \
      "what the user holds in the home on disk")                                                   \
    X(DISK_FILES, "disk_files", POLICY_COUNT, 4u, 256, 1073741824, 0, 0, 131072,                   \
      "files and directories of the user there")                                                   \
    X(IO_WEIGHT, "io_weight", POLICY_COUNT, 4u, 1, 10000, 0, 0, 100,                               \
      "share of the disk among users")                                                             \
    X(IO_READ, "io_read", POLICY_RATE, 4u, 64 * POLICY_KI, POLICY_TI, 0, 0, 0,                     \
      "what is read from the disk each second")                                                    \
    X(IO_WRITE, "io_write", POLICY_RATE, 4u, 64 * POLICY_KI, POLICY_TI, 0, 0, 0,                   \
      "what is written to it each second")

enum policy_key {
#define POLICY_KEY_ENUM(id, ...) POLICY_KEY_##id,
    POLICY_KEYS(POLICY_KEY_ENUM)
#undef POLICY_KEY_ENUM
        POLICY_KEY__COUNT,
};

struct policy_key_info {
    const char *name;
    enum policy_type type;
    unsigned kinds;
    uint64_t least, most;
    uint64_t shipped[POLICY_KIND__COUNT];
    const char *text;
};

extern const struct policy_key_info policy_keys[POLICY_KEY__COUNT];
extern const char *const policy_kind_names[POLICY_KIND__COUNT];
/* Keys of what control groups limit, in the order of their bits. */
extern const char *const policy_limit_names[WIRE_LIMIT__COUNT];

static inline bool policy_key_is_of(enum policy_key key, enum policy_kind kind)
{
    return (policy_keys[key].kinds & (1u << kind)) != 0;
}

struct policy_profile {
    char name[NAME_SIZE];
    enum policy_kind kind;
    uint64_t values[POLICY_KEY__COUNT]; /* 0 where a key is not of this kind */
    uint32_t required; /* bits of enum wire_limit: nothing starts where no control group has it */
    uint32_t tree_count, skill_count, uid_count, gid_count;
    char trees[POLICY_TREES_MAX][POLICY_TREE_SIZE]; /* absolute paths, read-only in the tree */
    char skills[POLICY_SKILLS_MAX][SKILL_SIZE];     /* NAME@HASH; NAME where nobody pinned it */
    uint32_t uids[POLICY_IDS_MAX];
    uint32_t gids[POLICY_IDS_MAX];
};

/* --- the network, for all of them alike: section network */

#define POLICY_DENY_MAX  64u
#define POLICY_ALLOW_MAX 64u
#define POLICY_HOST_SIZE 254u /* 253 characters: RFC 1035, 2.3.4 */

enum policy_egress {
    POLICY_EGRESS_PUBLIC, /* what is not refused */
    POLICY_EGRESS_LISTED, /* of that, what is allowed by name */
};

enum policy_net_type {
    POLICY_NET_NETWORKS,     /* a list of addresses and networks */
    POLICY_NET_YES_NO,       /* true, false */
    POLICY_NET_EGRESS,       /* public, listed */
    POLICY_NET_DESTINATIONS, /* a list of addresses, networks and names, each with or without port
                              */
    POLICY_NET_COUNT,
};

/*
 * One table for parser, bounds, defaults, `--show-policy`, data/atelier.conf.example and the
 * manual.
 *
 * X(id, key, type, least, most, shipped, what it is). Of a list: most entries.
 */
#define POLICY_NET_KEYS(X)                                                                         \
    X(DENY, "deny", POLICY_NET_NETWORKS, 0, POLICY_DENY_MAX, 0, "refused, besides what always is") \
    X(DENY_ON_LINK, "deny_on_link", POLICY_NET_YES_NO, 0, 1, 0,                                    \
      "refuse networks that the host is in, too")                                                  \
    X(EGRESS, "egress", POLICY_NET_EGRESS, 0, 1, POLICY_EGRESS_PUBLIC,                             \
      "or listed: nothing but what allow names")                                                   \
    X(ALLOW, "allow", POLICY_NET_DESTINATIONS, 0, POLICY_ALLOW_MAX, 0,                             \
      "with listed: address, network or name; :port")                                              \
    X(CONNECTIONS, "connections", POLICY_NET_COUNT, 16, 65536, 2048,                               \
      "connections of each user at a time")

enum policy_net_key {
#define POLICY_NET_KEY_ENUM(id, ...) POLICY_NET_KEY_##id,
    POLICY_NET_KEYS(POLICY_NET_KEY_ENUM)
#undef POLICY_NET_KEY_ENUM
        POLICY_NET_KEY__COUNT,
};

struct policy_net_key_info {
    const char *name;
    enum policy_net_type type;
    uint32_t least, most, shipped;
    const char *text;
};

extern const struct policy_net_key_info policy_net_keys[POLICY_NET_KEY__COUNT];

/* What is let through: an address or a network, or what a name stands for. */
struct policy_allow {
    char host[POLICY_HOST_SIZE]; /* lower case; empty: prefix counts */
    struct prefix prefix;
    uint16_t port; /* 0: all */
};

struct policy_net {
    bool deny_on_link;
    enum policy_egress egress;
    uint32_t connections;
    uint32_t deny_count, allow_count;
    struct prefix deny[POLICY_DENY_MAX];
    struct policy_allow allow[POLICY_ALLOW_MAX];
};
/* What holds a user to `disk` and `disk_files`. AUTO: the first that this host has. */
#define POLICY_DISK_BACKENDS(X)                                                                    \
    X(AUTO, "auto")                                                                                \
    X(QUOTA, "quota")                                                                              \
    X(IMAGE, "image")                                                                              \
    X(NONE, "none")

enum policy_disk_backend {
#define POLICY_DISK_ENUM(id, name) POLICY_DISK_##id,
    POLICY_DISK_BACKENDS(POLICY_DISK_ENUM)
#undef POLICY_DISK_ENUM
        POLICY_DISK__COUNT,
};

extern const char *const policy_disk_names[POLICY_DISK__COUNT];

/* The section `disk`, of the host as a whole. */
struct policy_disk {
    enum policy_disk_backend backend;
    bool is_required; /* nothing starts for somebody whom nothing holds to the limits */
    uint32_t idle_ms; /* an image that nothing uses is unmounted after that long */
};

#define POLICY_DISK_IDLE_LEAST_MS 100u
#define POLICY_DISK_IDLE_MOST_MS  86400000u
#define POLICY_DISK_IDLE_MS       600000u

/* The first POLICY_KIND__COUNT profiles are those of the kinds, in their order. */
struct policy {
    struct policy_disk disk;
    uint32_t count;
    struct policy_profile profiles[POLICY_PROFILES_MAX];
    struct policy_net net;
};

/* What is shipped: nobody said anything. */
void policy_defaults(struct policy *ret_policy);

enum policy_why {
    POLICY_WHY_SHIPPED, /* of the kind */
    POLICY_WHY_UID,
    POLICY_WHY_GID,
};

/**
 * policy_find() - Which profile holds for somebody
 * @gids:    Supplementary groups; the primary one is the uid
 * @ret_why: What it was chosen by; may be NULL
 * @ret_gid: The group it was chosen by; may be NULL
 *
 * A profile that names the uid, else the first in the policy that names one of the groups, else
 * that of the kind.
 */
const struct policy_profile *policy_find(const struct policy *policy, enum policy_kind kind,
                                         uint32_t uid, const uint32_t *gids, size_t count,
                                         enum policy_why *ret_why, uint32_t *ret_gid);

/* --- values as text, config_value.c */

#define POLICY_VALUE_SIZE 32

/**
 * policy_value_parse() - Text to value, with its bounds
 * @ret_fault: On failure: what is wrong, without the key's name
 *
 * Return: 0 or -EINVAL.
 */
int policy_value_parse(enum policy_key key, const char *text, uint64_t *ret_value,
                       char ret_fault[128]);

/* The shortest text that policy_value_parse() takes for this value. */
void policy_value_text(enum policy_key key, uint64_t value, char ret_text[POLICY_VALUE_SIZE]);

#define POLICY_LIMITS_SIZE 32

/* "memory, pids". @limits: bits of enum wire_limit */
void policy_limits_text(uint32_t limits, char ret_text[POLICY_LIMITS_SIZE]);

/* Those that a profile of this kind has, as bits of enum wire_limit. */
uint32_t policy_limits_of(enum policy_kind kind);

/* The same of a time that is no key of a profile, in milliseconds, with its bounds. */
int policy_time_parse(const char *text, uint64_t least_ms, uint64_t most_ms, uint32_t *ret_ms,
                      char ret_fault[128]);
void policy_time_text(uint64_t ms, char ret_text[POLICY_VALUE_SIZE]);

/**
 * policy_tree_fault() - May this directory of the host be in the tree of a run?
 * @path: Text as given
 *
 * An absolute path without . and .. and double slashes, outside of all that the tree has of its
 * own or hides.
 *
 * Return: NULL, or why not.
 */
const char *policy_tree_fault(const char *path);

/* --- the network as text, config_net.c */

#define POLICY_ALLOW_TEXT_SIZE (POLICY_HOST_SIZE + 8u)

/**
 * policy_allow_parse() - "198.51.100.2", "198.51.100.0/24:443", "[2001:db8::1]:443", "name:443"
 * @ret_fault: On failure: what is wrong, with the text
 *
 * A name has two labels at least, of letters, digits and '-'; nothing is looked up. What is
 * refused for everybody is refused here, too.
 *
 * Return: 0 or -EINVAL.
 */
int policy_allow_parse(const char *text, struct policy_allow *ret_allow,
                       char ret_fault[PREFIX_FAULT_SIZE]);

/* As policy_allow_parse() takes it. */
void policy_allow_text(const struct policy_allow *allow, char ret_text[POLICY_ALLOW_TEXT_SIZE]);

/* --- files, config_read.c */

struct config_error {
    char text[768]; /* "FILE:LINE: SECTION: KEY: what is wrong" */
};

/* Where the policy of this host is: SYSCONFDIR/atelier. */
extern const char *const config_dir;

/* Where sessiond shows what it goes by, in one file, to whoever wants to know; root's. */
#define POLICY_IN_FORCE ATELIER_RUN_DIR "/policy"

#define CONFIG_ANY_OWNER ((uid_t)-1)

/**
 * config_skill_fn - Which version of a skill is meant
 * @text:       NAME or NAME@HASH, valid
 * @ret_pinned: NAME@HASH
 *
 * Return: 0, -ENOENT (there is none), or another negative errno.
 */
typedef int config_skill_fn(const char *text, char ret_pinned[SKILL_SIZE]);

/*
 * Who reads a policy to go by it sets this: each skill is pinned where it is said, and one that
 * does not exist is an error with file and line. NULL, as at start: they stay as they are written.
 */
extern config_skill_fn *config_skill_pin;

/**
 * config_read() - The policy of a directory
 * @dir:   ".../etc/atelier"; it, conf.d and the files must be of @owner and nobody else's to write
 * @owner: 0, or CONFIG_ANY_OWNER to look at no owner and no mode
 *
 * What does not exist says nothing.
 *
 * Return: 0; -EINVAL (what is written is wrong), -EPERM (whose it is), -ENOMEM or another errno,
 * all with *@ret_e filled and @ret_policy untouched.
 */
int config_read(const char *dir, uid_t owner, struct policy *ret_policy,
                struct config_error *ret_e);

/* The same of one file, which must exist. */
int config_read_file(const char *path, uid_t owner, struct policy *ret_policy,
                     struct config_error *ret_e);

/* --- text, config_show.c */

/* All of it as a file that config_read_file() takes. Return: 0 or -EIO. */
int policy_show(const struct policy *policy, FILE *to);

/**
 * policy_net_text() - A value of the network, as in a file
 * @i: Of a list: which entry; else 0
 *
 * Return: false: there is none.
 */
bool policy_net_text(const struct policy_net *net, enum policy_net_key key, uint32_t i,
                     char ret_text[POLICY_ALLOW_TEXT_SIZE]);

/**
 * policy_loosened() - A line for each value that gives more than what is shipped
 *
 * "PROFILE: KEY is VALUE, shipped VALUE". Return: 0 or -EIO.
 */
int policy_loosened(const struct policy *policy, FILE *to);

/* The example: what is shipped, each line commented out. Return: 0 or -EIO. */
int policy_example(FILE *to);

#endif
