/* SPDX-License-Identifier: ISC */
/*
 * pamhost.c - a program that lets people in by PAM, and does one thing wrong if it is told to.
 *
 * Usage: pamhost SERVICE USER WORD...
 *
 * Words are obeyed in their order:
 *   auth acct cred recred uncred open close   one call; prints the word and its result
 *   type=TEXT   what the conversation answers from now on
 *   pad=N       that text, filled up with blanks to N bytes
 *   nul=N       that text, with a NUL at byte N
 *   null error  it answers with success and no text; with PAM_CONV_ERR
 *   ignore block reap   SIGCHLD, from now on: ignored; blocked; its handler reaps everything
 *   thread      one more thread from now on
 *   directory   / stays open from now on
 *   facts       prints NoNewPrivs, Seccomp and the number of the PID namespace (0: no /proc/self)
 *   env         prints PAM's environment
 *   shell=TEXT  a child becomes the user and runs the login shell with -c TEXT; waits for its
 * output wait        prints "waiting" and reads one byte from standard input
 *
 * What the module asks and tells is printed as "asked" and "told". Denials are not delayed; the
 * delay that was asked for is printed. The exit code is 0, or 2 if a word could not be obeyed.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pthread.h>
#include <pwd.h>
#include <security/pam_appl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/banned.h"

#define ANSWER_MAX 20000

struct answers {
    int result; /* of the conversation */
    bool is_null;
    char text[ANSWER_MAX + 1];
};

static struct passwd user; /* looked up at the start: later there may be no NSS any more */

static const char *name_of(int result)
{
    static const struct {
        int result;
        const char *name;
    } names[] = {{PAM_SUCCESS, "PAM_SUCCESS"},
                 {PAM_AUTH_ERR, "PAM_AUTH_ERR"},
                 {PAM_SESSION_ERR, "PAM_SESSION_ERR"},
                 {PAM_PERM_DENIED, "PAM_PERM_DENIED"},
                 {PAM_CONV_ERR, "PAM_CONV_ERR"},
                 {PAM_AUTHINFO_UNAVAIL, "PAM_AUTHINFO_UNAVAIL"},
                 {PAM_IGNORE, "PAM_IGNORE"},
                 {PAM_USER_UNKNOWN, "PAM_USER_UNKNOWN"},
                 {PAM_ACCT_EXPIRED, "PAM_ACCT_EXPIRED"}};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (names[i].result == result)
            return names[i].name;
    }
    return "another";
}

static int converse(int count, const struct pam_message **messages, struct pam_response **ret,
                    void *data)
{
    const struct answers *a = data;
    struct pam_response *r = calloc((size_t)count, sizeof(*r));

    for (int i = 0; r && i < count; i++) {
        bool is_question = messages[i]->msg_style == PAM_PROMPT_ECHO_OFF ||
                           messages[i]->msg_style == PAM_PROMPT_ECHO_ON;

        printf("%s %s\n", is_question ? "asked" : "told", messages[i]->msg);
        if (is_question && !a->is_null && (r[i].resp = malloc(sizeof(a->text))) != NULL)
            memcpy(r[i].resp, a->text, sizeof(a->text)); /* what is after the NUL, too */
    }
    *ret = r;
    return r ? a->result : PAM_BUF_ERR;
}

static void delay(int result, unsigned usec, void *data)
{
    (void)data;
    if (result != PAM_SUCCESS)
        printf("delay %u\n", usec);
}

static void reap_all(int signum)
{
    int saved = errno;

    (void)signum;
    while (waitpid(-1, NULL, WNOHANG) > 0)
        ;
    errno = saved;
}

static void *sleep_on(void *arg)
{
    (void)arg;
    for (;;)
        pause();
    return NULL;
}

static void facts(void)
{
    struct stat ns = {0};
    bool has_proc = stat("/proc/self/ns/pid", &ns) == 0;

    printf("facts NoNewPrivs %d Seccomp %d pid %llu\n", prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0),
           prctl(PR_GET_SECCOMP, 0, 0, 0, 0), has_proc ? (unsigned long long)ns.st_ino : 0ULL);
}

static void env(pam_handle_t *pamh)
{
    char **list = pam_getenvlist(pamh);

    for (char **entry = list; entry && *entry; entry++)
        printf("env %s\n", *entry);
}

/* As login(1) would. With "ignore" and "reap" nobody is left to wait for in the end: ECHILD. */
static void shell(pam_handle_t *pamh, const char *text)
{
    char **environment = pam_getenvlist(pamh);
    pid_t pid = fork();

    if (pid == 0) {
        if (setgroups(0, NULL) < 0 || setgid(user.pw_gid) < 0 || setuid(user.pw_uid) < 0)
            _exit(126);
        (void)execle(user.pw_shell, "-shell", "-c", text, (char *)NULL, environment);
        _exit(127);
    }
    if (pid < 0)
        printf("shell: %s\n", strerror(errno));
    while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
}

static bool arrange(const char *word)
{
    static pthread_t thread;
    sigset_t set;

    if (strcmp(word, "ignore") == 0)
        return signal(SIGCHLD, SIG_IGN) != SIG_ERR;
    if (strcmp(word, "reap") == 0)
        return signal(SIGCHLD, reap_all) != SIG_ERR;
    if (strcmp(word, "thread") == 0)
        return pthread_create(&thread, NULL, sleep_on, NULL) == 0;
    if (strcmp(word, "directory") == 0)
        return open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC) >= 0;
    if (strcmp(word, "block") != 0)
        return false;
    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGCHLD);
    return sigprocmask(SIG_BLOCK, &set, NULL) == 0;
}

/* What the conversation answers. Return: false if the word is none of these. */
static bool answer(struct answers *a, const char *word)
{
    size_t len = strlen(a->text);

    if (strncmp(word, "type=", 5) == 0) {
        *a = (struct answers){.result = PAM_SUCCESS};
        return snprintf(a->text, sizeof(a->text), "%s", word + 5) <= ANSWER_MAX;
    }
    if (strncmp(word, "pad=", 4) == 0) {
        size_t wanted = strtoul(word + 4, NULL, 10);

        if (wanted < len || wanted > ANSWER_MAX)
            return false;
        memset(a->text + len, ' ', wanted - len);
        a->text[wanted] = '\0';
        return true;
    }
    if (strncmp(word, "nul=", 4) == 0) {
        a->text[strtoul(word + 4, NULL, 10) % ANSWER_MAX] = '\0';
        return true;
    }
    if (strcmp(word, "null") == 0)
        return a->is_null = true;
    if (strcmp(word, "error") != 0)
        return false;
    a->result = PAM_CONV_ERR;
    return true;
}

/* Return: false if the word is no call. */
static bool call(pam_handle_t *pamh, const char *word, int *ret_last)
{
    if (strcmp(word, "auth") == 0)
        *ret_last = pam_authenticate(pamh, 0);
    else if (strcmp(word, "acct") == 0)
        *ret_last = pam_acct_mgmt(pamh, 0);
    else if (strcmp(word, "cred") == 0)
        *ret_last = pam_setcred(pamh, PAM_ESTABLISH_CRED);
    else if (strcmp(word, "recred") == 0)
        *ret_last = pam_setcred(pamh, PAM_REINITIALIZE_CRED);
    else if (strcmp(word, "uncred") == 0)
        *ret_last = pam_setcred(pamh, PAM_DELETE_CRED);
    else if (strcmp(word, "open") == 0)
        *ret_last = pam_open_session(pamh, 0);
    else if (strcmp(word, "close") == 0)
        *ret_last = pam_close_session(pamh, 0);
    else
        return false;
    printf("%s %s\n", word, name_of(*ret_last));
    return true;
}

static bool obey(pam_handle_t *pamh, struct answers *a, const char *word, int *ret_last)
{
    char byte;

    if (call(pamh, word, ret_last) || answer(a, word) || arrange(word))
        return true;
    if (strcmp(word, "facts") == 0)
        facts();
    else if (strcmp(word, "env") == 0)
        env(pamh);
    else if (strncmp(word, "shell=", 6) == 0)
        shell(pamh, word + 6);
    else if (strcmp(word, "wait") == 0)
        return printf("waiting\n") > 0 && read(STDIN_FILENO, &byte, 1) >= 0;
    else
        return false;
    return true;
}

int main(int argc, char **argv)
{
    static struct answers answers;
    static char room[4096];
    struct passwd *found = NULL;
    const struct pam_conv conversation = {.conv = converse, .appdata_ptr = &answers};
    /* libpam takes a function as a pointer to an object. */
    void (*function)(int, unsigned, void *) = delay;
    pam_handle_t *pamh = NULL;
    const void *item;
    int last = PAM_SUCCESS, code = 0;

    if (argc < 4)
        return 2;
    setvbuf(stdout, NULL, _IONBF, 0);
    (void)getpwnam_r(argv[2], &user, room, sizeof(room), &found);
    if (pam_start(argv[1], argv[2], &conversation, &pamh) != PAM_SUCCESS)
        return 2;
    memcpy(&item, &function, sizeof(item));
    (void)pam_set_item(pamh, PAM_FAIL_DELAY, item);
    (void)pam_set_item(pamh, PAM_TTY, "lab");
    (void)pam_set_item(pamh, PAM_RHOST, "192.0.2.1");
    for (int i = 3; i < argc && code == 0; i++) {
        if (!obey(pamh, &answers, argv[i], &last)) {
            fprintf(stderr, "pamhost: %s: %s\n", argv[i], strerror(errno));
            code = 2;
        }
    }
    (void)pam_end(pamh, last);
    return code;
}
