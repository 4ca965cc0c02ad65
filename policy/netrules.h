/* SPDX-License-Identifier: ISC */
/* netrules.h - what participants may reach over the network, as input for iptables-restore. */
#ifndef ATELIER_NETRULES_H
#define ATELIER_NETRULES_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/prefix.h"

#define NETRULES_CHAIN         "ATELIER"
#define NETRULES_CHAIN_NO      "ATELIER-NO"
#define NETRULES_RESOLVERS_MAX 16u
#define NETRULES_DENIED_MAX    192u
#define NETRULES_ALLOWED_MAX   320u
#define NETRULES_ON_LINK       "-m comment --comment on-link "
#define NETRULES_CGROUP_SIZE   512u /* what the match has room for: xt_cgroup_info_v2 */

enum netrules_family {
    NETRULES_V4,
    NETRULES_V6,
};

struct netrules_allowed {
    struct prefix prefix;
    uint16_t port; /* 0: all */
};

/* Lists have addresses of both families, as they come. */
struct netrules_spec {
    const struct in_addr *resolvers4; /* borrowed; port 53 of these is open */
    size_t resolver4_count;
    const struct in6_addr *resolvers6;
    size_t resolver6_count;
    const struct prefix *denied; /* borrowed; refused besides what always is */
    size_t denied_count;
    size_t link_count;                      /* the last of them: networks that the host is in */
    bool is_listed;                         /* of what is not refused, only allowed is open */
    const struct netrules_allowed *allowed; /* borrowed */
    size_t allowed_count;
    const char *cgroup;       /* path in the version 2 tree; what is in it is ours, too; or NULL */
    const char *cgroup_stale; /* lines of netrules_stale(), or NULL */
    bool jump_present;        /* OUTPUT has our jump (iptables -C): move it, else add it */
    bool drop_present;        /* the same of the rule behind it */
};

/**
 * netrules_jump() - The rule in OUTPUT, as arguments behind -I OUTPUT 1, -D OUTPUT or -C OUTPUT
 *
 * Return: static text; words are separated by one blank.
 */
const char *netrules_jump(void);

/**
 * netrules_cgroup_fault() - Can this path of a control group be in a rule?
 *
 * Return: NULL, or why not.
 */
const char *netrules_cgroup_fault(const char *path);

/**
 * netrules_stale() - What takes a rule out of OUTPUT that is, or was, our jump by control group
 * @line:     A rule as iptables prints it, with -A
 * @lines:    Text of @size bytes; the line is appended, with -D
 *
 * Whatever its path: one of an earlier sessiond may have been another, and a group that was made
 * anew at the same path is another group.
 *
 * Return: whether it was one. One for which there is no room is left.
 */
bool netrules_stale(const char *line, char *lines, size_t size);

/**
 * netrules_drop() - The rule right behind the jumps, likewise
 *
 * SYN-ACKs without a socket are SYN cookies: whose listener they answer for cannot be told, so
 * nobody's are sent (doc/decisions/0007-runs-may-not-listen.md).
 */
const char *netrules_drop(void);

/**
 * netrules_text() - The rules of one address family
 * @family:   NETRULES_V4 for iptables-restore, NETRULES_V6 for ip6tables-restore
 * @spec:     Borrowed; both families may be filled in
 * @ret_text: NUL-terminated text, heap, free() it
 *
 * For `iptables-restore --noflush`: one transaction that replaces our two chains and puts the jump
 * at line 1 of OUTPUT, that by control group behind it, if there is one, and then the drop; other
 * chains and rules stay. If spec->jump_present, drop_present or cgroup_stale is wrong, the whole
 * transaction fails (true, but gone) or the rule is there twice (false, but there): ask first.
 *
 * Return: 0; -EINVAL for too many resolvers or one that is no host's address, or a path that is
 * none; -E2BIG for too many networks; -ENOMEM.
 */
int netrules_text(enum netrules_family family, const struct netrules_spec *spec, char **ret_text);

/**
 * netrules_removal() - What takes the rules of one family away again, for either program
 * @spec:     jump_present, drop_present and cgroup_stale count, and are as important as in
 *            netrules_text()
 * @ret_text: NUL-terminated text, heap, free() it
 *
 * One transaction. While OUTPUT has one of our rules it takes them out, each once; when it has
 * none, it deletes the chains, which cannot go while something jumps to them. So: again, until
 * there is nothing of either.
 *
 * Return: 0 or -ENOMEM.
 */
int netrules_removal(const struct netrules_spec *spec, char **ret_text);

/**
 * netrules_revision() - One number for the rules of both families
 * @spec:         As for netrules_text(); jump_present, drop_present and cgroup_stale have no
 * influence
 * @ret_revision: Never 0; the same for the same rules on every host and after every restart
 *
 * Names rules in receipts and logs. Not a signature.
 *
 * Return: as netrules_text().
 */
int netrules_revision(const struct netrules_spec *spec, uint32_t *ret_revision);

#endif
