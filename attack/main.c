/* SPDX-License-Identifier: ISC */
/* main.c - the attacks by name. */
#include "attack/attack.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/banned.h"

#define BETWEEN "--"

static const struct attack {
    const char *name;
    attack_fn *fn;
    const char *text;
} attacks[] = {
#define ATTACK_ROW(name, fn, text) {name, fn, text},
    ATTACKS(ATTACK_ROW)
#undef ATTACK_ROW
};

static const struct attack *attack_find(const char *name)
{
    for (size_t i = 0; i < sizeof(attacks) / sizeof(attacks[0]); i++) {
        if (strcmp(attacks[i].name, name) == 0)
            return &attacks[i];
    }
    return NULL;
}

/* Return: 0 if it was tried. */
static int attack_run(const struct attack *attack, int argc, char *argv[])
{
    pid_t parent = getpid(), pid = fork();
    int status;

    if (pid < 0)
        return 1;
    if (pid == 0) {
        if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
            _exit(1);
        _exit(attack->fn(attack->name, argc, argv) == 0 ? 0 : 1);
    }
    while (waitpid(pid, &status, 0) < 0) {
        if (errno != EINTR)
            return 1;
    }
    if (WIFEXITED(status))
        return WEXITSTATUS(status);
    (void)dprintf(STDOUT_FILENO, "%s - died SIG%s\n", attack->name,
                  sigabbrev_np(WTERMSIG(status)) ? sigabbrev_np(WTERMSIG(status)) : "?");
    return 1;
}

static int usage(void)
{
    (void)fprintf(stderr, "usage: attack NAME [ARGUMENT...] [-- NAME [ARGUMENT...]]...\n");
    for (size_t i = 0; i < sizeof(attacks) / sizeof(attacks[0]); i++)
        (void)fprintf(stderr, "  %-12s %s\n", attacks[i].name, attacks[i].text);
    return 2;
}

int main(int argc, char *argv[])
{
    int failed = 0;

    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGXFSZ, SIG_IGN);
    if (argc < 2)
        return usage();
    for (int at = 1, next; at < argc; at = next + 1) {
        const struct attack *attack = attack_find(argv[at]);

        for (next = at; next < argc && strcmp(argv[next], BETWEEN) != 0; next++)
            ;
        if (!attack)
            return usage();
        argv[next] = NULL;
        if (at == 1 && next == argc)
            return attack->fn(attack->name, next - at - 1, argv + at + 1) == 0 ? 0 : 1;
        failed |= attack_run(attack, next - at - 1, argv + at + 1);
    }
    return failed ? 1 : 0;
}
