/* SPDX-License-Identifier: ISC */
/* cmd_setup.c - atelier setup: the host as atelier needs it, and back. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/str.h"
#include "ctl/cmd.h"
#include "ctl/exit.h"
#include "ctl/say.h"
#include "ctl/setup/program.h"
#include "ctl/setup/setup.h"
#include "ctl/setup/traces.h"
#include "ctl/setup/whole.h"

#include "common/banned.h"

enum {
    OPTION_DRY_RUN = OPTION_OWN,
    OPTION_UNDO,
    OPTION_PURGE,
    OPTION_YES,
    OPTION_LINK_BASE,
    OPTION_PORT,
    OPTION_RESOLVER,
};

static error_t port_set(struct argp_state *state, struct setup_options *o, const char *arg)
{
    if (str_to_u32(arg, UINT16_MAX, &o->port) < 0 || o->port == 0) {
        argp_error(state, "'%s' is not a port", arg);
        return EINVAL;
    }
    if (o->port == 22) {
        argp_error(state, "port 22 is the host's own sshd's");
        return EINVAL;
    }
    return 0;
}

static error_t link_base_set(struct argp_state *state, struct setup_options *o, const char *arg)
{
    if (!link_base_is_valid(arg)) {
        argp_error(state, "'%s' is not an address such as https://HOST/ or https://HOST/PATH", arg);
        return EINVAL;
    }
    o->link_base = arg;
    return 0;
}

static error_t resolver_add(struct argp_state *state, struct setup_options *o, const char *arg)
{
    bool is_none = strcmp(arg, "none") == 0;

    if (!is_none && !resolver_is_valid(arg))
        argp_error(state, "'%s' is not the address of a resolver", arg);
    else if (o->is_resolver_none || (is_none && o->resolver_count > 0))
        argp_error(state, "--resolver none stands alone");
    else if (o->resolver_count == RESOLVERS_MAX)
        argp_error(state, "more than %u resolvers", RESOLVERS_MAX);
    else {
        o->is_resolver_none = is_none;
        if (!is_none)
            o->resolvers[o->resolver_count++] = arg;
        return 0;
    }
    return EINVAL;
}

static error_t together_check(struct argp_state *state, const struct setup_options *o)
{
    if (o->is_undo && o->is_dry_run)
        argp_error(state, "--undo and --dry-run do not go together");
    else if (o->is_undo && (o->link_base || o->port || o->resolver_count || o->is_resolver_none))
        argp_error(state, "--undo takes none of --link-base, --port and --resolver");
    else if (o->is_purge && !o->is_undo)
        argp_error(state, "--purge goes with --undo only");
    else
        return 0;
    return EINVAL;
}

static error_t setup_option_parse(int key, char *arg, struct argp_state *state)
{
    struct setup_options *o = state->input;

    switch (key) {
    case OPTION_DRY_RUN:
        o->is_dry_run = true;
        return 0;
    case OPTION_UNDO:
        o->is_undo = true;
        return 0;
    case OPTION_PURGE:
        o->is_purge = true;
        return 0;
    case OPTION_YES:
        o->is_yes = true;
        return 0;
    case OPTION_LINK_BASE:
        return link_base_set(state, o, arg);
    case OPTION_PORT:
        return port_set(state, o, arg);
    case OPTION_RESOLVER:
        return resolver_add(state, o, arg);
    case ARGP_KEY_ARG:
        argp_error(state, "'%s' is one argument too many", arg);
        return EINVAL;
    case ARGP_KEY_END:
        return together_check(state, o);
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option setup_table[] = {
    {"dry-run", OPTION_DRY_RUN, NULL, 0, "Print what would be done, and change nothing", 0},
    {"undo", OPTION_UNDO, NULL, 0, "Take everything back", 0},
    {"purge", OPTION_PURGE, NULL, 0, "With --undo: remove the registry and all homes, too", 0},
    {"yes", OPTION_YES, NULL, 0, "Do not ask", 0},
    {"link-base", OPTION_LINK_BASE, "URL", 0, "Where magic links lead [https://HOSTNAME/]", 0},
    {"port", OPTION_PORT, "PORT", 0, "Where participants log in over SSH [2222]", 0},
    {"resolver", OPTION_RESOLVER, "ADDRESS", 0,
     "Who resolves names of hosts for participants (repeatable), or none [/etc/resolv.conf]", 0},
    {0},
};

static const struct argp setup_argp = {
    .options = setup_table,
    .parser = setup_option_parse,
    .doc =
        "Make this host one of atelier's: accounts, nsswitch, PAM, sshd, services. Prints what it "
        "will do and asks first. Everything is recorded and can be undone.\v"
        "Exit status: 0 done, or nothing to do; 1 refused, or failed in between; see "
        "atelier-setup(8).",
};

int setup_args_parse(int argc, char **argv, unsigned flags, struct setup_options *ret)
{
    struct setup_options o = {0};

    if (argp_parse(&setup_argp, argc, argv, flags, NULL, &o) != 0)
        return -EINVAL;
    *ret = o;
    return 0;
}

/* Return: whether to go on. Without a terminal the answer is no, and it has been said. */
static bool is_agreed(const struct setup_options *o, const char *question)
{
    char answer[16];

    if (o->is_yes)
        return true;
    if (isatty(STDIN_FILENO) != 1) {
        say_error("setup: nobody can be asked here: --yes goes on without");
        return false;
    }
    (void)printf("%s [y/N] ", question);
    (void)fflush(stdout);
    return fgets(answer, sizeof(answer), stdin) && (answer[0] == 'y' || answer[0] == 'Y');
}

/* The program's own check: whoever would not start with it is not given it. */
static bool link_base_is_taken(const struct setup_options *o)
{
    if (!o->link_base || access(ATELIER_PROGRAMS_DIR "/sessiond-api", X_OK) < 0 ||
        program_run(
            ARGV(ATELIER_PROGRAMS_DIR "/sessiond-api", "--link-base", o->link_base, "--version"),
            30, NULL) == 0)
        return true;
    say_error("setup: sessiond-api does not take '%s' as the beginning of links", o->link_base);
    return false;
}

static int record_say(int error)
{
    switch (error) {
    case -EBUSY:
        say_error("setup: another atelier setup is running");
        return CTL_BUSY;
    case -EBADMSG:
        say_error("setup: %s/journal.json cannot be read: it is not as setup writes it; nothing is "
                  "changed",
                  SETUP_DIR);
        return CTL_NO;
    case -EPERM:
        say_error("setup: %s is not a directory of root's alone; nothing is changed", SETUP_DIR);
        return CTL_NO;
    default:
        say_error("setup: %s: %s; nothing is changed", SETUP_DIR, strerror(-error));
        return CTL_NO;
    }
}

static int undo(struct setup *s)
{
    const struct setup_options *o = s->options;

    if (record_is_empty(&s->record) && traces_say() > 0) {
        say_error("setup: " SETUP_DIR " has no record of that: take it back by hand; nothing is "
                  "changed%s",
                  o->is_purge ? ", and nothing purged" : "");
        return CTL_NO;
    }
    if (o->is_purge && purge_check() < 0)
        return CTL_NO;
    if (record_is_empty(&s->record) && !o->is_purge) {
        (void)record_remove(&s->record);
        (void)puts("Nothing to undo: setup has changed nothing on this host.");
        return CTL_OK;
    }
    (void)puts(
        "All sessions and runs end, the services stop, and what setup changed becomes what it "
        "was.");
    (void)puts(o->is_purge ? "The registry (" ATELIER_STATE_DIR
                             ") and all homes (" ATELIER_HOMES_DIR ") are REMOVED."
                           : "The registry (" ATELIER_STATE_DIR ") and homes (" ATELIER_HOMES_DIR
                             ") stay.");
    if (!is_agreed(o, "Go on?"))
        return CTL_NO;
    if (setup_undo(s) < 0 || (o->is_purge && setup_purge(s) < 0))
        return CTL_NO;
    (void)puts("Undone.");
    return CTL_OK;
}

static void next_say(const struct setup_options *o)
{
    (void)printf(
        "Done. What next:\n"
        "  atelier status                        is all well?\n"
        "  atelier invite alice@example.org      what alice needs to get in\n"
        "  ssh -p %u alice@HOST                how she does; open TCP port %u to the world\n"
        "  atelier setup --undo                  everything back\n",
        o->port ? o->port : SETUP_PORT, o->port ? o->port : SETUP_PORT);
}

static int setup(struct setup *s)
{
    const struct setup_options *o = s->options;
    cleanup_text struct text plan = {0};

    s->out = text_begin(&plan);
    setup_plan(s);
    text_end(&plan, s->out);
    s->out = stdout;
    if (s->planned == 0 && s->refusals == 0) {
        (void)fputs(plan.bytes, stdout);
        (void)puts("Nothing to do: this host is set up.");
        return CTL_OK;
    }
    (void)printf("%s\n%s",
                 o->is_dry_run ? "What setup would do:" : "What setup will do:", plan.bytes);
    if (s->refusals > 0) {
        (void)fflush(stdout);
        say_error("setup: refused, for the reason%s above; nothing was changed",
                  s->refusals > 1 ? "s" : "");
        return CTL_NO;
    }
    if (o->is_dry_run)
        return CTL_OK;
    if (!is_agreed(o, "Go on?"))
        return CTL_NO;
    (void)fflush(stdout);
    if (setup_apply(s) < 0) {
        say_error(
            "setup: stopped half-way. When the reason is mended, atelier setup goes on; atelier "
            "setup --undo takes back what was done");
        return CTL_NO;
    }
    next_say(o);
    return CTL_OK;
}

int cmd_setup(struct options *opt, int argc, char **argv)
{
    struct setup_options o;
    struct setup s = {.options = &o, .out = stdout};
    int r;

    (void)opt;
    if (setup_args_parse(argc, argv, 0, &o) < 0)
        return CTL_USAGE;
    if (geteuid() != 0) {
        say_error("setup is for root");
        return CTL_NOPERM;
    }
    (void)umask(022);
    if (!link_base_is_taken(&o))
        return CTL_USAGE;
    r = record_open(SETUP_DIR, !o.is_dry_run, &s.record);
    if (r < 0)
        return record_say(r);
    r = o.is_undo ? undo(&s) : setup(&s);
    /* A directory that was made for nothing goes again. */
    if (!o.is_dry_run && record_is_empty(&s.record) && r != CTL_OK)
        (void)record_remove(&s.record);
    record_close(&s.record);
    return r;
}
