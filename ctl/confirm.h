/* SPDX-License-Identifier: ISC */
/* confirm.h - ask before something that cannot be taken back. */
#ifndef ATELIER_CTL_CONFIRM_H
#define ATELIER_CTL_CONFIRM_H

#include <stdbool.h>

/**
 * confirm() - Ask on the terminal
 * @is_yes:   Do not ask: the answer is yes
 * @question: Without the question mark's answers
 *
 * Return: whether to go on. Without a terminal the answer is no, and that -y goes on has been said.
 */
bool confirm(bool is_yes, const char *question);

#endif
