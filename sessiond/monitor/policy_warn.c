/* SPDX-License-Identifier: ISC */
/* policy_warn.c - what a policy says of this host that does not hold, or that loosens much. */
#include "sessiond/monitor/policy_warn.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

#include "common/cleanup.h"
#include "sessiond/monitor/disk_backend.h"
#include "sessiond/monitor/hosttree.h"

#include "common/banned.h"

struct findings {
    FILE *to;
    unsigned errors, warnings;
};

static void find(struct findings *f, bool is_error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void find(struct findings *f, bool is_error, const char *format, ...)
{
    va_list ap;

    (void)fputs(is_error ? "error: " : "warning: ", f->to);
    va_start(ap, format);
    (void)vfprintf(f->to, format, ap);
    va_end(ap);
    (void)fputc('\n', f->to);
    *(is_error ? &f->errors : &f->warnings) += 1;
}

static void tree_look(struct findings *f, const struct policy_profile *p, const char *path)
{
    mode_t mode = 0;
    int r = hosttree_look(path, &mode);

    switch (-r) {
    case 0:
        /* Or its group's, which may be one of participants. */
        if ((mode & 05) != 05 && (mode & 050) != 050)
            find(f, false, "%s: trees: %s: mode %04o: participants cannot read it", p->name, path,
                 mode & 07777);
        return;
    case EREMOTE:
        find(f, true, "%s: trees: %s: a server has its files: nothing will start", p->name, path);
        return;
    case EPERM:
        find(f, true, "%s: trees: %s: a file system of the kernel: nothing will start", p->name,
             path);
        return;
    default:
        find(f, false, "%s: trees: %s: %s: nothing starts as long as that is so", p->name, path,
             r == -ELOOP ? "there is a symbolic link in it" : strerrordesc_np(-r));
    }
}

/* "none" is more than any time. */
static bool is_more(enum policy_key key, uint64_t value, uint64_t than)
{
    if (policy_keys[key].type == POLICY_TIME_CPU)
        return than > 0 && (value == 0 || value > than);
    return value > than;
}

/* One line for all of it: the keys that give more than the section of its kind. */
static void group_look(struct findings *f, const struct policy *policy,
                       const struct policy_profile *p)
{
    const struct policy_profile *kind = &policy->profiles[p->kind];
    char keys[512] = "";

    for (unsigned key = 0; key < POLICY_KEY__COUNT; key++) {
        size_t n = strlen(keys);

        if (policy_key_is_of((enum policy_key)key, p->kind) &&
            is_more((enum policy_key)key, p->values[key], kind->values[key]))
            (void)snprintf(keys + n, sizeof(keys) - n, "%s %s", n > 0 ? "," : "",
                           policy_keys[key].name);
    }
    if (p->tree_count > 0 && kind->tree_count == 0) {
        size_t n = strlen(keys);

        (void)snprintf(keys + n, sizeof(keys) - n, "%s trees", n > 0 ? "," : "");
    }
    if (keys[0])
        find(f, false,
             "%s: gids: more than %s has, of%s: whoever gets into sessiond-api gets it, too",
             p->name, kind->name, keys);
}

/* Whoever names a back end, or a limit, means it: config_disk_join(). */
static void disk_warn(struct findings *f, const struct policy_disk *disk)
{
    cleanup_close int homes = -1;
    char why[WIRE_PATH_SIZE];

    if (disk->backend == POLICY_DISK_NONE ||
        (disk->backend == POLICY_DISK_AUTO && !disk->is_required))
        return;
    homes = open(ATELIER_HOMES_DIR, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (homes < 0) {
        find(f, false, "disk: " ATELIER_HOMES_DIR ": %s: what holds users to it is not known",
             strerrordesc_np(errno));
        return;
    }
    if (disk_backend(disk, homes, why) != WIRE_DISK_NONE)
        return;
    find(f, false, "disk: %s: %s; turn user quota on, or provide loop devices and e2fsprogs%s", why,
         disk->is_required ? "nothing starts" : "nobody is held to the limits",
         disk->is_required ? ", or say required = false" : "");
}

static void net_warn(struct findings *f, const struct policy_net *net)
{
    if (net->egress == POLICY_EGRESS_LISTED && net->allow_count == 0)
        find(f, false,
             "network: egress: listed, and allow is empty: participants reach nothing outside; "
             "name in allow what they need");
}

unsigned policy_warn(const struct policy *policy, FILE *to, unsigned *ret_warnings)
{
    struct findings f = {.to = to};

    for (uint32_t i = 0; i < policy->count; i++) {
        const struct policy_profile *p = &policy->profiles[i];

        for (uint32_t k = 0; k < p->tree_count; k++)
            tree_look(&f, p, p->trees[k]);
        if (p->gid_count > 0)
            group_look(&f, policy, p);
    }
    disk_warn(&f, &policy->disk);
    net_warn(&f, &policy->net);
    *ret_warnings = f.warnings;
    return f.errors;
}
