/* SPDX-License-Identifier: ISC */
/*
 * cmd.h - the commands. Each parses its own arguments, talks to the API and prints.
 *
 * argv[0] is the whole name of the command ("atelier user add"): it stands before its messages.
 */
#ifndef ATELIER_CTL_CMD_H
#define ATELIER_CTL_CMD_H

#include <jansson.h>
#include <stdint.h>

#include "ctl/args.h"
#include "ctl/exit.h"

/* Command: words, function, one line of help. */
#define COMMANDS(X)                                                                                \
    X("status", NULL, cmd_status, "say whether the service is well")                               \
    X("doctor", NULL, cmd_doctor, "look whether everything that this host promises holds")         \
    X("invite", NULL, cmd_invite, "make users, and print what they need to get in")                \
    X("user", "add", cmd_user_add, "make a user, or find the one with this e-mail address")        \
    X("user", "mod", cmd_user_mod, "change a user")                                                \
    X("user", "del", cmd_user_del, "remove users for ever, and keep or take away their homes")     \
    X("user", "image", cmd_user_image, "make images of homes that are directories")                \
    X("user", "list", cmd_user_list, "list all users")                                             \
    X("user", "show", cmd_user_show, "show one user")                                              \
    X("user", "lock", cmd_user_lock, "end what users do, and let them in no more")                 \
    X("user", "unlock", cmd_user_unlock, "let locked users in again")                              \
    X("user", "expire", cmd_user_expire, "say when a user's time is over")                         \
    X("adopt", NULL, cmd_adopt, "make a local account a user")                                     \
    X("link", "mint", cmd_link_mint, "make a link for one login of a user")                        \
    X("link", "list", cmd_link_list, "list the links")                                             \
    X("link", "revoke", cmd_link_revoke, "take a link back")                                       \
    X("session", "list", cmd_session_list, "list the sessions that are open")                      \
    X("session", "show", cmd_session_show, "show one session")                                     \
    X("session", "kill", cmd_session_kill, "end sessions")                                         \
    X("net", NULL, cmd_net, "show who reached what over the network, and what was refused")        \
    X("su", NULL, cmd_su, "log in as a user, confined like the user")                              \
    X("group", "add", cmd_group_add, "make a group")                                               \
    X("group", "list", cmd_group_list, "list all groups")                                          \
    X("group", "show", cmd_group_show, "show a group and who is in it")                            \
    X("group", "mod", cmd_group_mod, "rename a group, or change who is in it")                     \
    X("group", "del", cmd_group_del, "remove a group")                                             \
    X("caller", "add", cmd_caller_add, "let a program use the API, or change what it may do")      \
    X("caller", "list", cmd_caller_list, "list the programs that may use the API")                 \
    X("caller", "del", cmd_caller_del, "take the API away from a program")                         \
    X("index", "verify", cmd_index_verify, "compare what NSS says with the registry")              \
    X("index", "rebuild", cmd_index_rebuild, "make the file that NSS reads anew")                  \
    X("backup", NULL, cmd_backup, "write a copy of the registry into a file")                      \
    X("restore", NULL, cmd_restore, "take the registry from a backup")                             \
    X("policy", "check", cmd_policy_check, "say whether the policy can be read")                   \
    X("policy", "show", cmd_policy_show, "show all of the policy")                                 \
    X("policy", "names", cmd_policy_names, "show what the names of the policy stand for")          \
    X("policy", "explain", cmd_policy_explain, "show what the policy gives to a user")             \
    X("skill", "add", cmd_skill_add, "keep a directory of scripts for runs and sessions")          \
    X("skill", "list", cmd_skill_list, "list the skills")                                          \
    X("skill", "show", cmd_skill_show, "show one skill")                                           \
    X("skill", "verify", cmd_skill_verify, "say whether skills are what was added")                \
    X("skill", "del", cmd_skill_del, "take a version of a skill away")                             \
    X("run", NULL, cmd_run, "run a program as a user")                                             \
    X("setup", NULL, cmd_setup, "make this host one of atelier's, and back")

/* Return: exit code, 0..255; whatever went wrong has been said. */
#define COMMAND_DECLARE(noun, verb, fn, text) int fn(struct options *opt, int argc, char **argv);
COMMANDS(COMMAND_DECLARE)
#undef COMMAND_DECLARE

/**
 * user_add_parse() - Arguments of `user add` to the body of POST /v1/users
 * @opt:      Changed by the common options
 * @flags:    ARGP_*; with ARGP_SILENT errors are returned, else they end the program
 * @ret_body: Owned by the caller
 *
 * Return: 0 or -EINVAL.
 */
int user_add_parse(struct options *opt, int argc, char **argv, unsigned flags, json_t **ret_body);

/**
 * caller_add_parse() - Arguments of `caller add` to the body of POST /v1/callers
 *
 * Looks a user name up in the host's user database. Parameters as for user_add_parse().
 *
 * Return: 0, -EINVAL, or -ENOENT for a user name that the host does not have.
 */
int caller_add_parse(struct options *opt, int argc, char **argv, unsigned flags, json_t **ret_body);

/**
 * user_mod_parse() - Arguments of `user mod` to the body of PATCH /v1/users/NAME
 * @ret_name: Borrowed from @argv
 *
 * Other parameters as for user_add_parse(). Return: 0 or -EINVAL.
 */
int user_mod_parse(struct options *opt, int argc, char **argv, unsigned flags,
                   const char **ret_name, json_t **ret_body);

/* Arguments of `group mod` to the body of PATCH /v1/groups/NAME. As user_mod_parse(). */
int group_mod_parse(struct options *opt, int argc, char **argv, unsigned flags,
                    const char **ret_name, json_t **ret_body);

/* One line: name, UID, state, and when the user's time is over if it ever is. */
enum ctl_exit user_line_print(json_t *user);

/* Who has a UID on this host, "-" if nobody. Heap. */
char *unix_name_of(json_int_t uid);

struct setup_options;

/* Arguments of `setup`. @ret_options borrows from @argv. Return: 0 or -EINVAL. */
int setup_args_parse(int argc, char **argv, unsigned flags, struct setup_options *ret_options);

struct doctor_args;

/* Arguments of `doctor`. @ret borrows from @argv. Return: 0 or -EINVAL. */
int doctor_args_parse(struct options *opt, int argc, char **argv, unsigned flags,
                      struct doctor_args *ret);

struct invite_args {
    struct options *opt;
    char **emails; /* borrowed from the arguments; valid, and all different */
    size_t count;
    const char *csv; /* the file instead of emails, or NULL */
    json_t *groups;  /* array of names, owned, or NULL */
    int64_t valid_s;
    bool qr, is_dry_run;
};

/* Parameters as for user_add_parse(). Return: 0 or -EINVAL; then there is nothing to release. */
int invite_args_parse(struct options *opt, int argc, char **argv, unsigned flags,
                      struct invite_args *ret_args);

/* Arguments of `link mint` to the body of POST /v1/links. As user_add_parse(). */
int link_mint_parse(struct options *opt, int argc, char **argv, unsigned flags, json_t **ret_body);

/**
 * user_expire_parse() - Arguments of `user expire` to the body of PATCH /v1/users/NAME
 * @now_s:    Unix seconds
 * @ret_name: Borrowed from @argv
 *
 * Other parameters as for user_add_parse(). Return: 0 or -EINVAL.
 */
int user_expire_parse(struct options *opt, int argc, char **argv, unsigned flags, int64_t now_s,
                      const char **ret_name, json_t **ret_body);

#endif
