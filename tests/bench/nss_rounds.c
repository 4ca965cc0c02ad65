/* SPDX-License-Identifier: ISC */
/*
 * nss_rounds.c - looks people up through glibc in several hosts, in rotation, and prints how long
 * each look-up took.
 *
 * A scene is a host as far as NSS can see: a process in a mount namespace of its own, in which the
 * files of the scene's directory lie over those of the host. It asks the C library as any program
 * does; glibc reads nsswitch.conf and loads the modules. Every round takes each scene once for each
 * operation, so that what the machine does meanwhile hits all of them alike, and the ratios stay.
 *
 * Every answer is checked: an answer that is wrong, or none where there has to be one, ends the
 * measurement. A scene with nobody in it has to miss: it is the floor.
 *
 * usage: nss_rounds DIRECTORY SECONDS SCENE=PEOPLE...
 *        DIRECTORY has a directory for each SCENE, people ("NAME UID" a line; a scene knows the
 *        first PEOPLE of them) and for each number of people owners-N/, files of some of them.
 * Output: a line a look-up, "SCENE OPERATION NANOSECONDS"; a line for each kind of look-up,
 *         "SCENE syscalls:OPERATION NUMBER".
 */
#include "tests/bench/nss_lookup.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/banned.h"

#define SCENES_MAX     16
#define SAMPLES_MIN    3 /* of a cell, whatever it costs */
#define SAMPLES_MAX    4000
#define PROGRAMS_MAX   60 /* of an operation that starts a program */
#define TURN_CALLS     64
#define TURN_NS        10000000
#define WARM_UP_MAX_NS 1000000

extern char **environ;

/* What a scene may bring, and where it belongs. What it does not bring is the host's own. */
static const struct {
    const char *name, *path;
} scene_mounts[] = {
    {"nsswitch.conf", "/etc/nsswitch.conf"},
    {"passwd", "/etc/passwd"},
    {"group", "/etc/group"},
    {"nss", ATELIER_STATE_DIR "/nss"},
    {"extrausers", "/var/lib/extrausers"},
    {"misc", "/var/lib/misc"},
    {"passwd.cache", "/etc/passwd.cache"},
    {"passwd.cache.ixname", "/etc/passwd.cache.ixname"},
    {"passwd.cache.ixuid", "/etc/passwd.cache.ixuid"},
    {"group.cache", "/etc/group.cache"},
    {"group.cache.ixname", "/etc/group.cache.ixname"},
    {"group.cache.ixgid", "/etc/group.cache.ixgid"},
};

/* From the rotation to a scene, and back. */
struct order {
    enum lookup op;
    unsigned calls_max;
    uint64_t seed;
};

struct done {
    int64_t spent_ns;
    unsigned samples;
};

struct scene {
    const char *name;
    unsigned people;
    int fd;
    struct done cells[LOOKUP__COUNT];
};

/* ---- inside a scene */

static void scene_enter(const char *dir, const char *name)
{
    char from[256];

    if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
        lookup_die("%s: unshare: %s", name, strerror(errno));
    for (size_t i = 0; i < sizeof(scene_mounts) / sizeof(scene_mounts[0]); i++) {
        (void)snprintf(from, sizeof(from), "%s/%s/%s", dir, name, scene_mounts[i].name);
        if (access(from, F_OK) < 0)
            continue;
        if (mount(from, scene_mounts[i].path, NULL, MS_BIND, NULL) < 0)
            lookup_die("%s on %s: %s", from, scene_mounts[i].path, strerror(errno));
    }
}

/* A program from start to end, its output thrown away; @is_first: it says itself how long. */
static int64_t program_run(const char *const argv[], bool is_first, bool must_succeed)
{
    posix_spawn_file_actions_t actions;
    char said[32] = "";
    int64_t start_ns;
    int ends[2], status, r;
    pid_t pid;

    if (pipe(ends) < 0 || posix_spawn_file_actions_init(&actions) != 0)
        lookup_die("pipe: %s", strerror(errno));
    if (is_first)
        r = posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    else
        r = posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", 1, 0);
    start_ns = lookup_now_ns();
    if (r == 0)
        r = posix_spawnp(&pid, argv[0], &actions, NULL, (char *const *)(uintptr_t)argv, environ);
    if (r != 0)
        lookup_die("%s: %s", argv[0], strerror(r));
    if (waitpid(pid, &status, 0) != pid || (must_succeed && status != 0))
        lookup_die("%s ended with status %d", argv[0], status);
    start_ns = lookup_now_ns() - start_ns;
    (void)posix_spawn_file_actions_destroy(&actions);
    (void)close(ends[1]);
    if (is_first) {
        if (read(ends[0], said, sizeof(said) - 1) <= 0)
            lookup_die("%s said nothing", argv[0]);
        start_ns = strtoll(said, NULL, 10);
    }
    (void)close(ends[0]);
    return start_ns;
}

static int64_t operation_run(const struct lookup_scene *scene, enum lookup op, uint64_t seed)
{
    const char *owners[] = {"ls", "-l", scene->owners, NULL};
    const char *getent[] = {"getent", "passwd", NULL};
    char uid[16], people[16];
    const char *first[] = {"/proc/self/exe", "first", uid, people, NULL};
    const char *id[] = {"id", NULL, NULL};
    const struct person *person = lookup_person(scene, seed);

    switch (op) {
    case LOOKUP_FIRST:
        (void)snprintf(uid, sizeof(uid), "%u", person->uid);
        (void)snprintf(people, sizeof(people), "%u", scene->people);
        return program_run(first, true, true);
    case LOOKUP_GETENT:
        return program_run(getent, false, true);
    case LOOKUP_ID:
        /* Nobody is known to the floor but the accounts of its files. */
        id[1] = scene->people > 0 ? person->name : "0";
        return program_run(id, false, true);
    case LOOKUP_LS:
        return program_run(owners, false, true);
    default:
        return lookup_call(scene, op, seed);
    }
}

/* One turn: calls until there were enough of them, or the time of a turn is over. */
static struct done turn_run(const struct lookup_scene *scene, const struct order *order)
{
    int64_t start_ns = lookup_now_ns(), took_ns;
    struct done done = {0};
    uint64_t seed = order->seed;

    /* The caches of the processor were another scene's until now. */
    if (order->op < LOOKUP_FIRST && lookup_call(scene, order->op, seed) > WARM_UP_MAX_NS)
        seed++;
    while (done.samples < order->calls_max && done.spent_ns < TURN_NS) {
        took_ns = operation_run(scene, order->op, ++seed * 2654435761u);
        (void)printf("%s %s %lld\n", scene->name, lookup_key(order->op), (long long)took_ns);
        done.samples++;
        done.spent_ns = lookup_now_ns() - start_ns;
    }
    (void)fflush(stdout);
    return done;
}

__attribute__((noreturn)) static void scene_serve(const struct lookup_scene *scene, int fd)
{
    struct order order;
    struct done done;

    while (recv(fd, &order, sizeof(order), 0) == (ssize_t)sizeof(order) &&
           order.op < LOOKUP__COUNT) {
        done = turn_run(scene, &order);
        if (send(fd, &done, sizeof(done), MSG_NOSIGNAL) != (ssize_t)sizeof(done))
            lookup_die("%s: send: %s", scene->name, strerror(errno));
    }
    for (enum lookup op = 0; op < LOOKUP_FIRST; op++)
        (void)printf("%s syscalls:%s %u\n", scene->name, lookup_key(op),
                     lookup_syscalls(scene, op));
    (void)fflush(stdout);
    _exit(0);
}

/* ---- the rotation */

static void scene_start(struct scene *scene, const char *dir, const struct lookup_scene *people)
{
    struct lookup_scene inside = *people;
    int fds[2];
    pid_t pid;

    if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, fds) < 0)
        lookup_die("socketpair: %s", strerror(errno));
    pid = fork();
    if (pid < 0)
        lookup_die("fork: %s", strerror(errno));
    if (pid == 0) {
        /* A parent that is killed must not leave us behind. */
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void)close(fds[0]);
        lookup_scene_set(&inside, dir, scene->name, scene->people);
        scene_enter(dir, scene->name);
        scene_serve(&inside, fds[1]);
    }
    (void)close(fds[1]);
    scene->fd = fds[0];
}

/* Is this cell of the table still to be filled? */
static bool cell_goes_on(const struct done *cell, enum lookup op, int64_t share_ns)
{
    unsigned max = op >= LOOKUP_FIRST ? PROGRAMS_MAX : SAMPLES_MAX;

    return cell->samples < SAMPLES_MIN || (cell->samples < max && cell->spent_ns < share_ns);
}

static bool round_run(struct scene *scenes, size_t n, uint64_t round, int64_t share_ns)
{
    bool goes_on = false;

    for (enum lookup op = 0; op < LOOKUP__COUNT; op++) {
        for (size_t i = 0; i < n; i++) {
            struct scene *scene = &scenes[(i + round) % n];
            struct order order = {op, op >= LOOKUP_FIRST ? 1 : TURN_CALLS, round * 1000003u};
            struct done done;

            if (!cell_goes_on(&scene->cells[op], op, share_ns))
                continue;
            if (send(scene->fd, &order, sizeof(order), MSG_NOSIGNAL) != (ssize_t)sizeof(order) ||
                recv(scene->fd, &done, sizeof(done), 0) != (ssize_t)sizeof(done))
                lookup_die("%s ended", scene->name);
            scene->cells[op].samples += done.samples;
            scene->cells[op].spent_ns += done.spent_ns;
            goes_on = true;
        }
    }
    return goes_on;
}

/* @word is SCENE=PEOPLE. */
static void scene_parse(char *word, struct scene *ret_scene)
{
    char *number = strchr(word, '=');

    if (!number)
        lookup_die("%s is not SCENE=PEOPLE", word);
    *number++ = '\0';
    ret_scene->name = word;
    ret_scene->people = (unsigned)strtoul(number, NULL, 10);
}

int main(int argc, char **argv)
{
    static struct scene scenes[SCENES_MAX];
    struct lookup_scene people = {0};
    int64_t start_ns = lookup_now_ns(), limit_ns, share_ns;
    size_t n = 0;
    int status;

    if (argc == 4 && strcmp(argv[1], "first") == 0)
        return lookup_first((uid_t)strtoul(argv[2], NULL, 10), strcmp(argv[3], "0") != 0);
    if (argc < 4 || argc - 3 > SCENES_MAX)
        lookup_die("nss_rounds: wrong number of arguments");
    lookup_load(argv[1], &people);
    limit_ns = strtol(argv[2], NULL, 10) * 1000000000;
    for (int i = 3; i < argc; i++, n++) {
        scene_parse(argv[i], &scenes[n]);
        scene_start(&scenes[n], argv[1], &people);
    }
    share_ns = limit_ns / ((int64_t)n * LOOKUP__COUNT);
    for (uint64_t round = 1; lookup_now_ns() - start_ns < limit_ns; round++) {
        if (!round_run(scenes, n, round, share_ns))
            break;
    }
    /* One after the other, so that no line breaks into another's. */
    for (size_t i = 0; i < n; i++) {
        const struct order end = {.op = LOOKUP__COUNT};

        if (send(scenes[i].fd, &end, sizeof(end), MSG_NOSIGNAL) < 0 || wait(&status) < 0 ||
            status != 0)
            lookup_die("a scene ended with status %d", status);
    }
    return 0;
}
