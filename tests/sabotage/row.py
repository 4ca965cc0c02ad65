# SPDX-License-Identifier: ISC
# row.py - one protection that is taken away.
#
# name:  what is missing
# taken: what of switches.TAKE
# seen:  looks at the host then; "" if it is as it should be, or else what it shows
# tests: those that must fail, each of them
# doctor: the checks of atelier doctor that fail then, and no other does; None: it is not asked
# lacks: why this host cannot have the protection at all; "" if it can
from collections import namedtuple

Row = namedtuple("Row", "name taken seen tests lacks doctor", defaults=("", None))
