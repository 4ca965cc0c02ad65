/* SPDX-License-Identifier: ISC */
/*
 * owner.c - whose a packet is, to the owner match of iptables.
 *
 * The rules of each behaviour are in a network namespace of its own, whose only device is lo. The
 * rule is always the same: TCP of uid_a is rejected. What is reached in spite of it is a packet
 * that the rule did not take for uid_a's.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/kernel/prove.h"

#include "common/banned.h"

#define REACHED_MS 2000
/* What is dropped has not answered by then; the client's first repetition is a second away. */
#define NEVER_MS 300

static uint16_t port;
static int listener_fd;

static void reject(const char *match)
{
    char words[256];

    (void)snprintf(words, sizeof(words), "-p tcp -m owner %s -j REJECT --reject-with tcp-reset",
                   match);
    SETUP(rule_add(AF_INET, words));
}

static void reject_uid_a(void)
{
    char match[64];

    lo_up();
    listener_fd = listener(AF_INET, 8, &port);
    (void)snprintf(match, sizeof(match), "--uid-owner %u", uid_a);
    reject(match);
}

/* Packets that the rule of OUTPUT at this line has met. */
static unsigned long packets(int line)
{
    char path[] = "/tmp/counters", text[8192], *at;
    pid_t pid = fork();

    SETUP(pid >= 0);
    if (pid == 0) {
        int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

        if (fd < 0 || dup2(fd, 1) < 0)
            _exit(126);
        (void)execlp(tables_of(AF_INET), "iptables", "-w", "5", "-nvxL", "OUTPUT", (char *)NULL);
        _exit(127);
    }
    SETUP(child_end(pid) == 0 && file_read(path, text, sizeof(text)));
    at = text;
    for (int i = 0; i < line + 1; i++) { /* two lines of heading */
        at = strchr(at, '\n');
        SETUP(at != NULL);
        at++;
    }
    return strtoul(at, NULL, 10);
}

static void connect_refused(void *socket_fd)
{
    become(uid_a);
    CONTROL(connect_to(AF_INET, port, REACHED_MS) == ECONNREFUSED);
    if (socket_fd)
        MUST(connect_fd(*(int *)socket_fd, AF_INET, port, REACHED_MS) == 0);
}

static void owner_is_who_made_the_socket(void)
{
    int fd;

    reject_uid_a();
    fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CONTROL(connect_to(AF_INET, port, REACHED_MS) == 0); /* root is not concerned */
    SETUP(child_run(connect_refused, &fd) == 0);
}

static void owner_is_kept_when_the_process_changes(void)
{
    reject_uid_a();
    CONTROL(child_run(connect_refused, NULL) == 0);
    {
        pid_t pid = fork();

        SETUP(pid >= 0);
        if (pid == 0) {
            int fd;

            SETUP(setresuid(uid_a, uid_a, 0) == 0);
            fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
            SETUP(setresuid(0, 0, 0) == 0);
            MUST(connect_fd(fd, AF_INET, port, REACHED_MS) == ECONNREFUSED);
            _exit(0);
        }
        SETUP(child_end(pid) == 0);
    }
}

/* A process in a user namespace made by root, in which @inside stands for @outside. */
static pid_t mapped_start(uid_t inside, uid_t outside, void (*function)(void *))
{
    int ready[2], go[2];
    char path[64], map[64], byte = 0;
    pid_t pid;

    SETUP(pipe2(ready, O_CLOEXEC) == 0 && pipe2(go, O_CLOEXEC) == 0);
    pid = fork();
    SETUP(pid >= 0);
    if (pid == 0) {
        SETUP(unshare(CLONE_NEWUSER) == 0);
        SETUP(write(ready[1], "", 1) == 1 && read(go[0], &byte, 1) == 1);
        SETUP(setresgid(inside, inside, inside) == 0 && setresuid(inside, inside, inside) == 0);
        function(NULL);
        _exit(0);
    }
    SETUP(read(ready[0], &byte, 1) == 1);
    (void)snprintf(map, sizeof(map), "%u %u 1\n", inside, outside);
    (void)snprintf(path, sizeof(path), "/proc/%d/gid_map", pid);
    SETUP(file_write(path, map) == 0);
    (void)snprintf(path, sizeof(path), "/proc/%d/uid_map", pid);
    SETUP(file_write(path, map) == 0);
    SETUP(write(go[1], "", 1) == 1);
    return pid;
}

static void reach_as_mapped(void *arg)
{
    (void)arg;
    SETUP(getuid() == uid_a); /* so it says itself */
    MUST(connect_to(AF_INET, port, REACHED_MS) == 0);
}

static void user_namespace_of_root_evades_the_match(void)
{
    reject_uid_a();
    CONTROL(child_run(connect_refused, NULL) == 0);
    SETUP(child_end(mapped_start(uid_a, 0, reach_as_mapped)) == 0);
}

static void sub_uid_evades_the_match(void)
{
    reject_uid_a();
    CONTROL(child_run(connect_refused, NULL) == 0);
    SETUP(child_end(mapped_start(uid_a, uid_b, reach_as_mapped)) == 0);
}

static void refused_in_own_namespace(void *arg)
{
    (void)arg;
    become(uid_a);
    NEED(unshare(CLONE_NEWUSER) == 0, "this kernel lets no user make a user namespace");
    MUST(connect_to(AF_INET, port, REACHED_MS) == ECONNREFUSED);
}

static void user_namespace_of_the_user_does_not(void)
{
    reject_uid_a();
    CONTROL(connect_to(AF_INET, port, REACHED_MS) == 0);
    SETUP(child_run(refused_in_own_namespace, NULL) == 0);
}

static void group_match_is_evaded_by_set_gid(void)
{
    char match[64], where[16];

    lo_up();
    listener_fd = listener(AF_INET, 8, &port);
    (void)snprintf(match, sizeof(match), "--gid-owner %u", uid_a);
    reject(match);
    (void)snprintf(where, sizeof(where), "%u", port);
    self_copy("/tmp/plain", 0, 0, 0755);
    self_copy("/tmp/set-gid", 0, uid_b, 02755);
    CONTROL(act_as(uid_a, false, "/tmp/plain", ACT_CONNECT, where) == ECONNREFUSED);
    MUST(act_as(uid_a, false, "/tmp/set-gid", ACT_CONNECT, where) == 0);
    MUST(act_as(uid_a, true, "/tmp/set-gid", ACT_CONNECT, where) == ECONNREFUSED);
}

static void user_match_is_evaded_by_set_uid(void)
{
    char where[16];

    reject_uid_a();
    (void)snprintf(where, sizeof(where), "%u", port);
    self_copy("/tmp/plain", 0, 0, 0755);
    self_copy("/tmp/set-uid", uid_b, 0, 04755);
    CONTROL(act_as(uid_a, false, "/tmp/plain", ACT_CONNECT, where) == ECONNREFUSED);
    MUST(act_as(uid_a, false, "/tmp/set-uid", ACT_CONNECT, where) == 0);
    MUST(act_as(uid_a, true, "/tmp/set-uid", ACT_CONNECT, where) == ECONNREFUSED);
}

/* --- listeners ------------------------------------------------------------------------------ */

/* Lines of OUTPUT that count SYN-ACKs. */
#define OF_UID_A  1
#define OF_NOBODY 2

static void count_answers(int *ret_fd)
{
    char words[128];

    lo_up();
    SETUP(seteuid(uid_a) == 0);
    *ret_fd = listener(AF_INET, 8, &port);
    SETUP(seteuid(0) == 0);
    (void)snprintf(words, sizeof(words),
                   "-p tcp -m tcp --tcp-flags SYN,ACK SYN,ACK -m owner --uid-owner %u", uid_a);
    SETUP(rule_add(AF_INET, words));
    SETUP(
        rule_add(AF_INET, "-p tcp -m tcp --tcp-flags SYN,ACK SYN,ACK -m owner ! --socket-exists"));
}

/* Of /proc/sys of this network namespace; nobody else's. */
static bool cookies_set(const char *value)
{
    return file_write("/proc/sys/net/ipv4/tcp_syncookies", value) == 0;
}

static void syn_cookies_have_no_owner(void)
{
    int fd;

    NEED(cookies_set("0"), "this kernel makes no SYN cookies");
    count_answers(&fd);
    SETUP(connect_to(AF_INET, port, REACHED_MS) == 0);
    CONTROL(packets(OF_UID_A) == 1 && packets(OF_NOBODY) == 0);
    SETUP(cookies_set("2")); /* always, not only when the queue is full */
    SETUP(connect_to(AF_INET, port, REACHED_MS) == 0);
    MUST(packets(OF_UID_A) == 1 && packets(OF_NOBODY) == 1);
}

static void connect_as_uid_a(void *arg)
{
    (void)arg;
    become(uid_a);
    SETUP(connect_to(AF_INET, port, REACHED_MS) == 0);
}

static void answers_of_a_listener_are_reply(void)
{
    char words[160];
    int fd, other;
    uint16_t of_root;

    lo_up();
    SETUP(seteuid(uid_a) == 0);
    fd = listener(AF_INET, 8, &port);
    SETUP(seteuid(0) == 0);
    (void)snprintf(words, sizeof(words),
                   "-m owner --uid-owner %u -m conntrack --ctdir REPLY -j DROP", uid_a);
    NEED(rule_add(AF_INET, words), "this kernel has no connection tracking");
    /* Their own way out is ORIGINAL, and stays open. */
    other = listener(AF_INET, 8, &of_root);
    SETUP(other >= 0);
    {
        uint16_t theirs = port;

        port = of_root;
        CONTROL(child_run(connect_as_uid_a, NULL) == 0);
        port = theirs;
    }
    MUST(connect_to(AF_INET, port, NEVER_MS) == ETIMEDOUT);
    (void)close(fd);
}

static int sent[2];

static void accept_and_send(void *arg)
{
    int fd = accept4(*(int *)arg, NULL, NULL, SOCK_CLOEXEC);

    SETUP(fd >= 0 && send(fd, "x", 1, 0) == 1);
    SETUP(write(sent[1], "", 1) == 1);
    (void)pause(); /* and keep it open */
}

static void accept_as_uid_a(void *arg)
{
    become(uid_a);
    accept_and_send(arg);
}

/* A client to whom the accepter has sent something. */
static int greeted_by(void (*accepter)(void *), pid_t *ret_pid)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    char byte;

    SETUP(pipe2(sent, O_CLOEXEC) == 0 && connect_fd(fd, AF_INET, port, REACHED_MS) == 0);
    *ret_pid = child_start(accepter, &listener_fd);
    SETUP(read(sent[0], &byte, 1) == 1);
    return fd;
}

static void drop_of_uid_a(void)
{
    char words[128];

    lo_up();
    listener_fd = listener(AF_INET, 8, &port);
    (void)snprintf(words, sizeof(words), "-p tcp -m owner --uid-owner %u -j DROP", uid_a);
    SETUP(rule_add(AF_INET, words));
}

/* sshd's connection is root's, whatever the participant may not answer. */
static void accepted_socket_is_of_who_accepts(void)
{
    pid_t pid;

    drop_of_uid_a();
    CONTROL(is_readable(greeted_by(accept_and_send, &pid), REACHED_MS));
    MUST(!is_readable(greeted_by(accept_as_uid_a, &pid), NEVER_MS));
}

/*
 * What was queued in it is sent all the same. So it is the handshake that has to be refused:
 * without one there is no queue.
 */
static void closed_socket_has_no_owner(void)
{
    pid_t pid;
    int fd;

    drop_of_uid_a();
    fd = greeted_by(accept_as_uid_a, &pid);
    CONTROL(!is_readable(fd, NEVER_MS));
    SETUP(kill(pid, SIGKILL) == 0 && child_end(pid) == 128 + SIGKILL);
    MUST(is_readable(fd, 5000) && recv(fd, (char[1]){0}, 1, 0) == 1);
}

static void hold_and_wait(void *arg)
{
    (void)arg;
    pause_ms(5000);
}

static void make_hold_and_end(void *arg)
{
    uint16_t *shared = arg;
    int fd = listener(AF_INET, 8, &port);

    SETUP(fd >= 0);
    (void)child_start(hold_and_wait, NULL);
    SETUP(write(*(int *)shared, &port, sizeof(port)) == sizeof(port));
}

/* Its process may have died: any copy answers. */
static void listener_lives_as_long_as_any_copy(void)
{
    int pair[2], fd;

    lo_up();
    fd = listener(AF_INET, 8, &port);
    (void)close(fd);
    CONTROL(connect_to(AF_INET, port, REACHED_MS) == ECONNREFUSED);
    SETUP(pipe2(pair, O_CLOEXEC) == 0);
    SETUP(child_run(make_hold_and_end, &pair[1]) == 0);
    SETUP(read(pair[0], &port, sizeof(port)) == sizeof(port));
    MUST(connect_to(AF_INET, port, REACHED_MS) == 0);
}

static const struct behaviour behaviours[] = {
    BEHAVIOUR(owner_is_who_made_the_socket),
    BEHAVIOUR(owner_is_kept_when_the_process_changes),
    BEHAVIOUR(user_namespace_of_root_evades_the_match),
    BEHAVIOUR(sub_uid_evades_the_match),
    BEHAVIOUR(user_namespace_of_the_user_does_not),
    BEHAVIOUR(group_match_is_evaded_by_set_gid),
    BEHAVIOUR(user_match_is_evaded_by_set_uid),
    BEHAVIOUR(syn_cookies_have_no_owner),
    BEHAVIOUR(answers_of_a_listener_are_reply),
    BEHAVIOUR(accepted_socket_is_of_who_accepts),
    BEHAVIOUR(closed_socket_has_no_owner),
    BEHAVIOUR(listener_lives_as_long_as_any_copy),
};

int main(int argc, char **argv)
{
    return prove_main(argc, argv, "owner", behaviours, sizeof(behaviours) / sizeof(behaviours[0]),
                      NULL);
}
