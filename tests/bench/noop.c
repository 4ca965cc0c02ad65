/* SPDX-License-Identifier: ISC */
/* noop.c - the program whose own cost is nearly nothing: what is measured is the way to it. */
#include "common/banned.h"

int main(void)
{
    return 0;
}
