/* SPDX-License-Identifier: ISC */
/*
 * attack.h - what a participant's program could try, and says of it.
 *
 * `attack NAME [ARGUMENT...] [-- NAME ...]`: of several, each in a process of its own, so that one
 * that is ended takes no other with it. One line for each try, on standard output:
 *
 *   NAME TARGET reached - [DETAIL]
 *   NAME TARGET refused ERRNO [DETAIL]
 *   NAME - died SIGNAL                   instead of the lines that are missing
 *
 * ERRNO is a name ("EPERM"), or "-" where something else refused; no word but the last has blanks
 * in it. Exit code: 0 if every attack was tried, 2 for one that does not exist.
 *
 * Everything here is what any user of a host may run; nothing is changed, and what is made is
 * removed, also where nothing confines it. Linked with libc alone.
 */
#ifndef ATELIER_ATTACK_H
#define ATELIER_ATTACK_H

/* One table: name, function, what it tries. */
#define ATTACKS(X)                                                                                 \
    X("tcp", attack_tcp, "[lo/]ADDRESS:PORT...: connect")                                          \
    X("udp", attack_udp, "[lo/]ADDRESS:PORT...: send a byte")                                      \
    X("listen", attack_listen, "serve on a port of one's own")                                     \
    X("sockets", attack_sockets, "[KIND...]: kinds of sockets that no rule sees")                  \
    X("families", attack_families, "all families of sockets")                                      \
    X("links", attack_links, "network interfaces besides lo")                                      \
    X("calls", attack_calls, "system calls for other things than work")                            \
    X("entries", attack_entries, "other entries of the kernel, and high halves")                   \
    X("read", attack_read, "PATH...")                                                              \
    X("write", attack_write, "PATH...: make a file, and remove it")                                \
    X("see", attack_see, "PATH...: is it there?")                                                  \
    X("setids", attack_setids, "run what is set-uid and set-gid")                                  \
    X("filecaps", attack_filecaps, "run what has file capabilities")                               \
    X("mounts", attack_mounts, "a mount where a set-uid program or device would work")             \
    X("descriptors", attack_descriptors, "whatever was left open")                                 \
    X("environment", attack_environment, "names that are not a user's own")                        \
    X("kill", attack_kill, "PID...: a signal that does nothing")                                   \
    X("look", attack_look, "PID...: in /proc, and by pidfd")                                       \
    X("arguments", attack_arguments, "TEXT: find it, backwards, among the arguments of others")    \
    X("linger", attack_linger, "leave a process behind")                                           \
    X("jobs", attack_jobs, "a crontab, and a job of at")                                           \
    X("core", attack_core, "leave a core dump")                                                    \
    X("self", attack_self, "what the kernel says of this process")                                 \
    X("shm", attack_shm, "KEY...: System V memory, semaphores and queue of another")               \
    X("mqueue", attack_mqueue, "NAME...: POSIX queue of another")                                  \
    X("abstract", attack_abstract, "NAME...: AF_UNIX socket of another without a path")            \
    X("connect", attack_connect, "PATH...: AF_UNIX socket of another")                             \
    X("ptys", attack_ptys, "COUNT: as many terminals")                                             \
    X("type", attack_type, "type into a terminal")                                                 \
    X("loop", attack_loop, "use a processor for ever")                                             \
    X("memory", attack_memory, "MIB: and touch it")                                                \
    X("forks", attack_forks, "COUNT: as many processes")                                           \
    X("fill", attack_fill, "PATH MIB: one large file")                                             \
    X("leave", attack_leave, "PATH...: files that another run would find")                         \
    X("nap", attack_nap, "MILLISECONDS")

/* @argv: the arguments, NULL-terminated. Return: 0 if it was tried. */
typedef int attack_fn(const char *name, int argc, char *argv[]);

#define ATTACK_DECLARE(name, fn, text) attack_fn fn;
ATTACKS(ATTACK_DECLARE)
#undef ATTACK_DECLARE

/* The lines. @error: a positive errno, or 0. @format: the detail, "" for none. */
__attribute__((format(printf, 3, 4))) void say_reached(const char *name, const char *target,
                                                       const char *format, ...);
__attribute__((format(printf, 4, 5))) void say_refused(const char *name, const char *target,
                                                       int error, const char *format, ...);

/* One or the other: @r is 0 or a negative errno. */
void say(const char *name, const char *target, int r);

/* Text of an errno as in errno.h, "-" for 0. */
const char *errno_name(int error);

/*
 * In a process of its own. Return: what @fn returns, 0 or a negative errno; -ECANCELED if it was
 * ended by a signal.
 */
int apart(int (*fn)(void *arg), void *arg);

/* A number of the command line, @most at most. Return: @otherwise for what is none. */
long number(const char *text, long most, long otherwise);

#endif
