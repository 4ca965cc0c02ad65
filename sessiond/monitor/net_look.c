/* SPDX-License-Identifier: ISC */
/* net_look.c - a process that looks at the rules, and puts them back if they are not ours. */
#include "sessiond/monitor/net_look.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/cleanup.h"

#include "common/banned.h"

/* Seen, loaded, seen; normal form anew, seen; loaded, seen. */
#define SIGHTS_MAX 4

int net_look_new(struct net_look **ret_look)
{
    void *mem = mmap(NULL, sizeof(struct net_look), PROT_READ | PROT_WRITE,
                     MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (mem == MAP_FAILED)
        return -ENOMEM;
    *ret_look = mem;
    return 0;
}

struct sight {
    const struct netrules_form *normal;
    struct netrules_seen *seen;
};

static void line_see(void *arg, const char *line)
{
    const struct sight *s = arg;

    netrules_see(s->seen, s->normal, line);
}

/*
 * What it says on standard error every time ("legacy tables present") is not for our log.
 *
 * Return: 0; -ENOENT (no iptables-save), -EPROTO (it failed, or does not understand the table),
 * -errno.
 */
static int table_see(const struct net_family *f, const struct netrules_form *normal,
                     struct netrules_seen *ret_seen)
{
    const char *const argv[] = {net_program_find(f->save), "-t", "filter", NULL};
    struct sight sight = {normal, ret_seen};
    int r;

    *ret_seen = (struct netrules_seen){0};
    r = net_program_read(argv, line_see, &sight);
    if (r > 0 || (r == 0 && ret_seen->is_unreadable))
        return -EPROTO;
    return r;
}

static int rules_load(const struct net_family *f, const struct netrules_spec *ours,
                      const struct netrules_seen *seen)
{
    cleanup_free char *text = NULL;
    struct netrules_spec spec = *ours;
    int r;

    spec.jump_present = seen->jump_present;
    spec.drop_present = seen->drop_present;
    spec.cgroup_stale = seen->stale[0] ? seen->stale : NULL;
    r = netrules_text(f->family, &spec, &text);
    return r < 0 ? r : net_text_load(f, text);
}

/* Must not return in the wrong namespace: what follows would look at an empty host. */
static int normal_make(const struct net_family *f, const struct netrules_spec *spec,
                       struct net_look_family *p)
{
    cleanup_close int host = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
    struct netrules_seen seen = {0};
    int r;

    p->has_normal = false;
    if (host < 0 || unshare(CLONE_NEWNET) < 0)
        return -errno;
    r = rules_load(f, spec, &seen);
    if (r == 0)
        r = table_see(f, NULL, &seen);
    if (setns(host, CLONE_NEWNET) < 0)
        _exit(1);
    if (r == 0 && !netrules_form_is_whole(&seen, spec->cgroup))
        r = -EBADMSG;
    if (r < 0)
        return r;
    netrules_form_take(&seen, &p->normal);
    p->has_normal = true;
    return 0;
}

/* Return: 0 (the host has our rules), -EAGAIN (it had not, each time), or a negative errno. */
static int family_keep(const struct net_family *f, const struct netrules_spec *spec, bool must_load,
                       struct net_look_family *p)
{
    int r = p->has_normal ? 0 : normal_make(f, spec, p), loaded = 0;

    for (int sight = 0; r == 0 && sight < SIGHTS_MAX; sight++) {
        struct netrules_seen seen;
        enum netrules_fault fault;

        r = table_see(f, &p->normal, &seen);
        if (r < 0)
            return r;
        fault = netrules_compare(&seen, &p->normal);
        if (sight == 0) {
            p->found = fault;
            p->has_seen = true;
        }
        if (fault == NETRULES_FAULT_NONE && (sight > 0 || !must_load))
            return 0;
        if (sight == 1 && p->was_loaded) {
            r = normal_make(f, spec, p);
            continue;
        }
        /* It fails, too, if what was seen is no longer so: then again, with what is there now. */
        loaded = rules_load(f, spec, &seen);
        p->was_loaded = loaded == 0;
    }
    if (r < 0)
        return r;
    return loaded < 0 ? loaded : -EAGAIN;
}

static _Noreturn void look_main(struct net_look *look, const struct net_config *config,
                                pid_t parent)
{
    struct netrules_spec spec;
    struct net_room room;
    bool is_changed, is_held = true;

    net_child_settle("atelier-netlook", parent);
    net_spec_make(config, &room, &spec);
    is_changed = look->is_changed || room.cgroup_id != look->cgroup_id;
    for (size_t i = 0; i < NET_FAMILIES; i++) {
        struct net_look_family *p = &look->families[i];

        if (!net_family_exists(&net_families[i])) {
            p->is_held = p->has_seen = true;
            continue;
        }
        if (room.cgroup_id != look->cgroup_id)
            p->has_normal = false;
        p->error = family_keep(&net_families[i], &spec, look->must_load || is_changed, p);
        p->is_held = p->error == 0;
        is_held = is_held && p->is_held;
        /* What was there is what we had made: nobody has had a hand in it. */
        if (is_changed && p->is_held)
            p->found = NETRULES_FAULT_NONE;
    }
    if (is_held && (look->must_load || is_changed))
        (void)netrules_revision(&spec, &look->revision);
    /* Whoever starts is told that this group is held: only if it is, in each family. */
    if (is_held)
        look->cgroup_id = room.cgroup_id;
    else if (room.cgroup_id != look->cgroup_id)
        look->cgroup_id = 0;
    if (look->must_see_table)
        net_table_keep(config, look->connections, &look->table);
    _exit(0);
}

int net_look_start(struct net_look *look, const struct net_config *config, pid_t *ret_pid)
{
    pid_t parent = getpid(), pid;

    for (size_t i = 0; i < NET_FAMILIES; i++) {
        struct net_look_family *p = &look->families[i];

        p->has_seen = p->was_loaded = p->is_held = false;
        p->has_normal = p->has_normal && !look->must_forget;
        p->found = NETRULES_FAULT_NONE;
        p->error = -EINTR;
    }
    look->revision = 0;
    look->table.was_loaded = look->table.is_held = false;
    look->table.error = -EINTR;
    pid = fork();
    if (pid < 0)
        return -errno;
    if (pid == 0)
        look_main(look, config, parent);
    *ret_pid = pid;
    return 0;
}
