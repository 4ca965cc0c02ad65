/* SPDX-License-Identifier: ISC */
/*
 * policy_tool.h - sessiond as a tool: check, show, compare and explain a policy, show a filter, and
 * exit.
 *
 * Needs no right but to read the files, starts nothing and changes nothing. Here, because the
 * program that goes by a policy is the one that can say what it means.
 */
#ifndef ATELIER_POLICY_TOOL_H
#define ATELIER_POLICY_TOOL_H

enum policy_tool {
    POLICY_TOOL_NONE,
    POLICY_TOOL_CHECK,
    POLICY_TOOL_SHOW,
    POLICY_TOOL_LOOSENED,
    POLICY_TOOL_EXPLAIN,
    POLICY_TOOL_FILTER,
    POLICY_TOOL_NAMES, /* not of a file: as the running sessiond knows them */
};

/**
 * policy_tool_run() - Do it, to standard output; what is wrong goes to standard error
 * @file: A file instead of those of the host, of any owner; NULL: those of the host
 * @who:  For EXPLAIN: "UID" or "UID:GID,GID..."; for FILTER: "run" or "login"
 *
 * Return: an exit code: 0; EX_CONFIG, the policy is wrong; EX_USAGE, @who is; EX_IOERR.
 */
int policy_tool_run(enum policy_tool tool, const char *file, const char *who);

#endif
