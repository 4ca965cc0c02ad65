# SPDX-License-Identifier: ISC
include tests/unit/local.mk
