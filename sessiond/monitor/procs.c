/* SPDX-License-Identifier: ISC */
/* procs.c - what all processes below an init come to, by /proc of the host. */
#include "sessiond/monitor/procs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/fd.h"
#include "sessiond/monitor/clock.h"
#include "sessiond/monitor/pidfd.h"

#include "common/banned.h"

/* Numbers of so many children, with a blank each: pid_max is 4194304. */
#define CHILDREN_ROOM (PROCS_ROOM * 8)
#define STAT_ROOM     1024
#define PID_LIMIT     4194304 /* include/linux/threads.h: PID_MAX_LIMIT */
#define ROLLUP_ROOM   2048
/* The lines of memory come after that of the groups, and only root sets these. */
#define STATUS_ROOM 8192

struct proc {
    pid_t pid, parent;
};

/* The last look: sessiond has one thread. */
static struct proc found[PROCS_ROOM];
static size_t found_count, root_count; /* the roots come first */
static char children[CHILDREN_ROOM];

/* Numbers of those that one process has been seen to have, a bit each: when a thread ends, its
 * children are another one's, whose list may be read later. */
static uint8_t listed[PID_LIMIT / 8];

struct stat_line {
    pid_t parent;
    uint32_t threads;
    uint64_t ticks;
    uint64_t rss_pages;
};

/* Fields 3 to 24 of stat(5) begin behind the last parenthesis. */
static int stat_parse(const char *text, struct stat_line *ret_line)
{
    unsigned long utime, stime;
    long cutime, cstime, threads, rss;
    const char *at = strrchr(text, ')');
    int parent;

    if (!at || sscanf(at + 1,
                      " %*c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu %ld %ld %*d %*d %ld "
                      "%*d %*u %*u %ld",
                      &parent, &utime, &stime, &cutime, &cstime, &threads, &rss) != 7)
        return -EPROTO;
    if (threads < 0 || rss < 0 || cutime < 0 || cstime < 0)
        return -EPROTO;
    *ret_line = (struct stat_line){
        .parent = parent,
        .threads = (uint32_t)threads,
        .ticks = utime + stime + (unsigned long)cutime + (unsigned long)cstime,
        .rss_pages = (uint64_t)rss,
    };
    return 0;
}

/* A number that was given to another process meanwhile has another parent. */
static int proc_stat(int dir, const struct proc *p, struct stat_line *ret_line)
{
    char text[STAT_ROOM];
    int r = file_read_text(dir, "stat", text, sizeof(text));

    if (r == 0)
        r = stat_parse(text, ret_line);
    if (r == 0 && p >= found + root_count && ret_line->parent != p->parent &&
        ret_line->parent != found[0].pid)
        r = -ESRCH;
    return r;
}

/* Return: false if it was there already. */
static bool listed_add(long pid)
{
    uint8_t *byte = &listed[pid / 8];
    const uint8_t bit = (uint8_t)(1u << (pid % 8));
    bool is_new = (*byte & bit) == 0;

    *byte |= bit;
    return is_new;
}

/* All of them came to @found from there on. */
static void listed_clear(size_t first)
{
    for (size_t i = first; i < found_count; i++)
        listed[found[i].pid / 8] = 0;
}

/* Return: 0; -ENOSPC: there are more than there is room for. */
static int children_take(pid_t parent)
{
    char *at = children;

    for (;;) {
        char *end;
        long pid = strtol(at, &end, 10);

        if (end == at || pid <= 0 || pid >= PID_LIMIT)
            return 0;
        at = end;
        if (!listed_add(pid))
            continue;
        if (found_count == PROCS_ROOM) {
            listed[pid / 8] = 0;
            return -ENOSPC;
        }
        found[found_count++] = (struct proc){.pid = (pid_t)pid, .parent = parent};
    }
}

static int children_of_task(int dir, const char *task, pid_t parent)
{
    char file[48];
    int r;

    (void)snprintf(file, sizeof(file), "task/%.16s/children", task);
    r = file_read_text(dir, file, children, sizeof(children));
    return r < 0 ? r : children_take(parent);
}

/* Children are a thread's. What is gone meanwhile has none. Return: is there room for all? */
static bool children_of_all(int dir, const struct proc *p, uint32_t threads)
{
    cleanup_close int fd = -1;
    bool has_room = true;
    char task[16];
    DIR *list;

    (void)snprintf(task, sizeof(task), "%d", p->pid);
    if (threads == 1) {
        return children_of_task(dir, task, p->pid) != -ENOSPC;
    }
    fd = openat(dir, "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    list = fd >= 0 ? fdopendir(fd) : NULL;
    if (!list)
        return true;
    (void)fd_take(&fd);
    for (struct dirent *e; has_room && (e = readdir(list));) {
        if (e->d_name[0] >= '0' && e->d_name[0] <= '9')
            has_room = children_of_task(dir, e->d_name, p->pid) != -ENOSPC;
    }
    (void)closedir(list);
    return has_room;
}

/* Each once. */
static bool children_of(int dir, const struct proc *p, uint32_t threads)
{
    const size_t first = found_count;
    bool has_room = children_of_all(dir, p, threads);

    listed_clear(first);
    return has_room;
}

int procs_check(void)
{
    cleanup_close int dir = proc_open(getpid());
    char task[16];
    int r;

    (void)snprintf(task, sizeof(task), "%d", getpid());
    found_count = 0;
    r = dir < 0 ? dir : children_of_task(dir, task, getpid());
    listed_clear(0);
    return r;
}

int procs_look(pid_t init, pid_t login, uint32_t most, struct procs *ret_procs)
{
    const uint64_t tick_us = 1000000 / (uint64_t)sysconf(_SC_CLK_TCK);
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    struct procs sum = {0};
    uint64_t largest = 0;

    found[0] = (struct proc){.pid = init};
    found[1] = (struct proc){.pid = login};
    found_count = root_count = login > 0 ? 2 : 1;
    for (size_t i = 0; i < found_count && !sum.is_cut;) {
        const struct proc *p = &found[i];
        cleanup_close int dir = proc_open(p->pid);
        struct stat_line line;
        int r = dir < 0 ? dir : proc_stat(dir, p, &line);

        if (r < 0 && i == 0)
            return r == -ENOENT ? -ESRCH : r;
        if (r < 0) { /* it is gone, and its children are the init's: the next look finds them */
            if (i < root_count)
                i++;
            else
                found[i] = found[--found_count];
            continue;
        }
        sum.tasks += line.threads;
        sum.cpu_us += line.ticks * tick_us;
        sum.rss_bytes += line.rss_pages * page;
        if (i >= root_count && line.rss_pages > largest) {
            largest = line.rss_pages;
            sum.largest = p->pid;
        }
        sum.is_cut = sum.tasks > most || !children_of(dir, p, line.threads);
        i++;
    }
    *ret_procs = sum;
    return 0;
}

/* No name has a newline here: the kernel writes it as two characters. */
static uint64_t line_kib(const char *text, const char *key)
{
    const char *at = strstr(text, key);

    return at ? strtoull(at + strlen(key), NULL, 10) : 0;
}

uint64_t procs_places(pid_t init, const struct plan *plan)
{
    static const char *const places[PLAN_PLACE__COUNT] = {
#define PLACE_TARGET(id, target, key) [PLAN_PLACE_##id] = target,
        PLAN_PLACES(PLACE_TARGET)
#undef PLACE_TARGET
    };
    cleanup_close int dir = proc_open(init), root = -1;
    uint64_t used = 0;

    if (dir >= 0)
        root = openat(dir, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);
    for (unsigned i = 0; root >= 0 && i < PLAN_PLACE__COUNT; i++) {
        cleanup_close int fd = -1;
        struct statfs fs;

        /* The mount points are root's, and so is all above them: nobody puts a link there. */
        if (plan->sizes[i].bytes > 0)
            fd = openat(root, places[i], O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (fd >= 0 && fstatfs(fd, &fs) == 0 && fs.f_blocks >= fs.f_bfree)
            used += (uint64_t)(fs.f_blocks - fs.f_bfree) * (uint64_t)fs.f_bsize;
    }
    return used;
}

/* KiB of one process, each shared page in parts. Return: false if it is gone. */
static bool memory_in_parts(int dir, uint64_t *own, uint64_t *shared)
{
    char text[ROLLUP_ROOM];

    if (file_read_text(dir, "smaps_rollup", text, sizeof(text)) < 0)
        return false;
    *own += line_kib(text, "\nPss_Anon:") + line_kib(text, "\nSwapPss:");
    *shared += line_kib(text, "\nPss_Shmem:");
    return true;
}

/* The same with each page in full, for which the kernel takes no lock of the process. */
static bool memory_in_full(int dir, uint64_t *own, uint64_t *shared)
{
    char text[STATUS_ROOM];

    if (file_read_text(dir, "status", text, sizeof(text)) < 0)
        return false;
    *own += line_kib(text, "\nRssAnon:") + line_kib(text, "\nVmSwap:");
    *shared += line_kib(text, "\nRssShmem:");
    return true;
}

uint64_t procs_memory(uint64_t places, int64_t patience_us)
{
    const int64_t until_us = clock_us() + patience_us;
    uint64_t own = 0, shared = 0;

    for (size_t i = 0; i < found_count; i++) {
        cleanup_close int dir = proc_open(found[i].pid);

        if (dir < 0)
            continue;
        if (clock_us() < until_us)
            (void)memory_in_parts(dir, &own, &shared);
        else
            (void)memory_in_full(dir, &own, &shared);
    }
    shared *= 1024;
    return own * 1024 + (shared > places ? shared : places);
}
