/* SPDX-License-Identifier: ISC */
/* netrules.h - what participants may reach over the network, as input for iptables-restore. */
#ifndef ATELIER_NETRULES_H
#define ATELIER_NETRULES_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NETRULES_CHAIN         "ATELIER"
#define NETRULES_CHAIN_NO      "ATELIER-NO"
#define NETRULES_RESOLVERS_MAX 16u

enum netrules_family {
    NETRULES_V4,
    NETRULES_V6,
};

struct netrules_spec {
    const struct in_addr *resolvers4; /* borrowed; port 53 of these is open */
    size_t resolver4_count;
    const struct in6_addr *resolvers6;
    size_t resolver6_count;
    bool jump_present; /* OUTPUT has our jump (iptables -C): move it, else add it */
    bool drop_present; /* the same of the rule behind it */
};

/**
 * netrules_jump() - The rule in OUTPUT, as arguments behind -I OUTPUT 1, -D OUTPUT or -C OUTPUT
 *
 * Return: static text; words are separated by one blank.
 */
const char *netrules_jump(void);

/**
 * netrules_drop() - The rule right behind the jump, likewise
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
 * at line 1 of OUTPUT, the drop at line 2; other chains and rules stay. If spec->jump_present or
 * drop_present is wrong, the whole transaction fails (true, but gone) or the rule is there twice
 * (false, but there): ask first.
 *
 * Return: 0, -EINVAL for too many resolvers or one that is no host's address, -ENOMEM.
 */
int netrules_text(enum netrules_family family, const struct netrules_spec *spec, char **ret_text);

/**
 * netrules_removal() - What takes the rules of one family away again, for either program
 * @spec:     jump_present and drop_present count, and are as important as in netrules_text()
 * @ret_text: NUL-terminated text, heap, free() it
 *
 * One transaction. While OUTPUT has one of the two rules it takes them out, each once; when it has
 * neither, it deletes the chains, which cannot go while something jumps to them. So: again, until
 * there is nothing of either.
 *
 * Return: 0 or -ENOMEM.
 */
int netrules_removal(const struct netrules_spec *spec, char **ret_text);

/**
 * netrules_revision() - One number for the rules of both families
 * @spec:         As for netrules_text(); jump_present and drop_present have no influence
 * @ret_revision: Never 0; the same for the same rules on every host and after every restart
 *
 * Names rules in receipts and logs. Not a signature.
 *
 * Return: as netrules_text().
 */
int netrules_revision(const struct netrules_spec *spec, uint32_t *ret_revision);

#endif
