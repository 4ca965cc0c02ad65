/* SPDX-License-Identifier: ISC */
/* host_neighbours.c - sockets of the host that a session could come to. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "ctl/doctor/checks.h"
#include "ctl/doctor/facts.h"
#include "ctl/setup/file.h"

#include "common/banned.h"

#define PROC_UNIX       "/proc/net/unix"
#define FLAG_LISTENS    0x10000u    /* __SO_ACCEPTCON of linux/net.h */
#define OURS            "@atelier-" /* the listener that Landlock is tried on (scope.c) */
#define LANDLOCK_SCOPES 6
#define NAMED_MAX       6

/* A line of the table. Return: false for the heading, and for sockets without a name. */
static bool line_parse(const char *text, unsigned *ret_flags, unsigned *ret_type,
                       const char **ret_path)
{
    int at = 0;

    if (sscanf(text, "%*x: %*x %*x %x %x %*x %*u %n", ret_flags, ret_type, &at) != 2 || at == 0 ||
        text[at] == '\0')
        return false;
    *ret_path = text + at;
    return true;
}

/* Each name once, in the order of the table. Return: 0 or a negative errno. */
static int table_read(bool (*is_wanted)(const char *path, unsigned flags, unsigned type), FILE *out,
                      size_t *ret_count)
{
    FILE *in = fopen(PROC_UNIX, "re");
    cleanup_free char *line = NULL;
    size_t size = 0;

    if (!in)
        return -errno;
    *ret_count = 0;
    while (getline(&line, &size, in) > 0) {
        unsigned flags, type;
        const char *path;

        line[strcspn(line, "\n")] = '\0';
        if (!line_parse(line, &flags, &type, &path) || !is_wanted(path, flags, type))
            continue;
        if (++*ret_count <= NAMED_MAX)
            (void)fprintf(out, "%s%s", *ret_count > 1 ? ", " : "", path);
        else if (*ret_count == NAMED_MAX + 1)
            (void)fputs(" ...", out);
    }
    (void)fclose(in);
    return 0;
}

/* Datagram sockets have no state: one that has a name can be sent to. Source: unix(7). */
static bool is_open(unsigned flags, unsigned type)
{
    return type == 2 || (flags & FLAG_LISTENS) != 0;
}

static bool is_abstract(const char *path, unsigned flags, unsigned type)
{
    return path[0] == '@' && strncmp(path, OURS, strlen(OURS)) != 0 && is_open(flags, type);
}

void check_abstract(struct doctor *d, struct doctor_line *l)
{
    cleanup_text struct text names = {0};
    FILE *out = text_begin(&names);
    int abi = facts_landlock_abi();
    size_t count;
    int r = table_read(is_abstract, out, &count);

    (void)d;
    text_end(&names, out);
    if (r < 0)
        doctor_say(l, DOCTOR_UNKNOWN, PROC_UNIX ": %s", strerror(-r));
    else if (count == 0)
        doctor_say(l, DOCTOR_PASS, "nobody listens on an abstract name");
    else
        doctor_say(l, abi >= LANDLOCK_SCOPES ? DOCTOR_PASS : DOCTOR_WARN, "%zu %s: %s", count,
                   abi >= LANDLOCK_SCOPES ? "listen, out of reach of sessions"
                                          : "listen, and sessions can talk to them",
                   names.bytes);
}

/* The policy that is in force, for the trees in it: lines "trees = {...}", paths in quotes. */
#define POLICY ATELIER_RUN_DIR "/policy"
static struct text policy;

static bool is_in_tree(const char *path)
{
    struct line line = {0};

    while (line_next(&policy, &line)) {
        const char *end = line.start + line.size, *at = memmem(line.start, line.size, "trees =", 7);

        while (at && (at = memchr(at, '"', (size_t)(end - at)))) {
            const char *tree = at + 1, *quote = memchr(tree, '"', (size_t)(end - tree));
            size_t size = quote ? (size_t)(quote - tree) : 0;

            if (size > 0 && strncmp(path, tree, size) == 0 && path[size] == '/')
                return true;
            at = quote ? quote + 1 : NULL;
        }
    }
    return false;
}

/* What of the host's tree is in that of sessions, and reached by anybody there. */
static bool is_shared(const char *path, unsigned flags, unsigned type)
{
    struct stat st;

    return (strncmp(path, "/usr/", 5) == 0 || is_in_tree(path)) && is_open(flags, type) &&
           stat(path, &st) == 0 && S_ISSOCK(st.st_mode) && (st.st_mode & S_IWOTH) != 0;
}

void check_usr_sockets(struct doctor *d, struct doctor_line *l)
{
    cleanup_file struct file in_force = {0};
    cleanup_text struct text names = {0};
    FILE *out = text_begin(&names);
    size_t count = 0;
    int r = file_read(POLICY, &in_force);

    policy = in_force.text;
    if (r == 0)
        r = table_read(is_shared, out, &count);
    policy = (struct text){0};

    (void)d;
    text_end(&names, out);
    if (r < 0)
        doctor_say(l, DOCTOR_UNKNOWN, PROC_UNIX ", " POLICY ": %s", strerror(-r));
    else if (count > 0)
        doctor_say(l, DOCTOR_FAIL, "sessions can talk to %s", names.bytes);
    else
        doctor_say(l, DOCTOR_PASS,
                   "no socket below /usr, or in a tree of the policy, that everybody may talk to");
}
