/* SPDX-License-Identifier: ISC */
/* netreason.h - the name of each refusing rule of netrules.h. */
#ifndef ATELIER_NETREASON_H
#define ATELIER_NETREASON_H

#include <stdbool.h>

#include "common/wire_net.h"

/**
 * netreason_of() - Why does this rule refuse?
 * @line:       "-A ATELIER ... -j ATELIER-NO", as netrules_text() writes or iptables-save prints
 *              it; with or without its newline
 * @ret_reason: Set if it is one that refuses
 *
 * An address that is no part of the shipped list is one that the configuration refuses, or is in a
 * network of the host (NETRULES_ON_LINK).
 *
 * Return: whether it is one.
 */
bool netreason_of(const char *line, enum wire_net_reason *ret_reason);

#endif
