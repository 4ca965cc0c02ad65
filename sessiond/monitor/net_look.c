/* SPDX-License-Identifier: ISC */
/* net_look.c - a process that looks at the rules, and puts them back if they are not ours. */
#include "sessiond/monitor/net_look.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
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

/* Read what iptables-save prints, to its end. Return: 0 or -errno. */
static int lines_see(int fd, const struct netrules_form *normal, struct netrules_seen *seen)
{
    FILE *file = fdopen(fd, "r");
    cleanup_free char *line = NULL;
    size_t size = 0;
    int r = 0;

    if (!file) {
        (void)close(fd);
        return -ENOMEM;
    }
    while (getline(&line, &size, file) > 0)
        netrules_see(seen, normal, line);
    if (ferror(file))
        r = -EIO;
    (void)fclose(file);
    return r;
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
    cleanup_close int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    int fds[2], r, code;
    pid_t pid;

    *ret_seen = (struct netrules_seen){0};
    if (!argv[0])
        return -ENOENT;
    if (null < 0 || pipe2(fds, O_CLOEXEC) < 0)
        return -errno;
    r = net_program_start(argv, null, fds[1], true, &pid);
    (void)close(fds[1]);
    if (r < 0) {
        (void)close(fds[0]);
        return r;
    }
    r = lines_see(fds[0], normal, ret_seen);
    code = net_program_wait(pid);
    if (r < 0)
        return r;
    if (code != 0 || ret_seen->is_unreadable)
        return code < 0 ? code : -EPROTO;
    return 0;
}

static int rules_load(const struct net_family *f, const struct net_config *config,
                      const struct netrules_seen *seen)
{
    cleanup_free char *text = NULL;
    struct net_resolvers res;
    struct netrules_spec spec;
    int r;

    net_spec_make(config, &res, &spec);
    spec.jump_present = seen->jump_present;
    spec.drop_present = seen->drop_present;
    r = netrules_text(f->family, &spec, &text);
    return r < 0 ? r : net_text_load(f, text);
}

/* Must not return in the wrong namespace: what follows would look at an empty host. */
static int normal_make(const struct net_family *f, const struct net_config *config,
                       struct net_look_family *p)
{
    cleanup_close int host = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
    struct netrules_seen seen = {0};
    int r;

    p->has_normal = false;
    if (host < 0 || unshare(CLONE_NEWNET) < 0)
        return -errno;
    r = rules_load(f, config, &seen);
    if (r == 0)
        r = table_see(f, NULL, &seen);
    if (setns(host, CLONE_NEWNET) < 0)
        _exit(1);
    if (r == 0 && !netrules_form_is_whole(&seen))
        r = -EBADMSG;
    if (r < 0)
        return r;
    p->normal = seen.form;
    p->has_normal = true;
    return 0;
}

/* Return: 0 (the host has our rules), -EAGAIN (it had not, each time), or a negative errno. */
static int family_keep(const struct net_family *f, const struct net_config *config, bool must_load,
                       struct net_look_family *p)
{
    int r = p->has_normal ? 0 : normal_make(f, config, p), loaded = 0;

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
            r = normal_make(f, config, p);
            continue;
        }
        /* It fails, too, if what was seen is no longer so: then again, with what is there now. */
        loaded = rules_load(f, config, &seen);
        p->was_loaded = loaded == 0;
    }
    if (r < 0)
        return r;
    return loaded < 0 ? loaded : -EAGAIN;
}

static _Noreturn void look_main(struct net_look *look, const struct net_config *config,
                                pid_t parent)
{
    sigset_t empty;

    /* Forked from a process with an event loop: neither handlers nor descriptors are for us. */
    for (int sig = 1; sig < NSIG; sig++)
        (void)signal(sig, SIG_DFL);
    (void)sigemptyset(&empty);
    (void)sigprocmask(SIG_SETMASK, &empty, NULL);
    (void)prctl(PR_SET_NAME, "atelier-netlook");
    if (setpgid(0, 0) < 0 || prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent ||
        syscall(SYS_close_range, 3u, ~0u, 0u) < 0)
        _exit(1);
    for (size_t i = 0; i < NET_FAMILIES; i++) {
        struct net_look_family *p = &look->families[i];

        if (!net_family_exists(&net_families[i])) {
            p->is_held = p->has_seen = true;
            continue;
        }
        p->error = family_keep(&net_families[i], config, look->must_load, p);
        p->is_held = p->error == 0;
    }
    _exit(0);
}

int net_look_start(struct net_look *look, const struct net_config *config, pid_t *ret_pid)
{
    pid_t parent = getpid(), pid;

    for (size_t i = 0; i < NET_FAMILIES; i++) {
        struct net_look_family *p = &look->families[i];

        p->has_seen = p->was_loaded = p->is_held = false;
        p->found = NETRULES_FAULT_NONE;
        p->error = -EINTR;
    }
    pid = fork();
    if (pid < 0)
        return -errno;
    if (pid == 0)
        look_main(look, config, parent);
    *ret_pid = pid;
    return 0;
}
