# SPDX-License-Identifier: ISC
include tests/unit/local.mk
include tests/bench/local.mk
include tests/kernel/local.mk
include tests/lint/local.mk

# What make does not run by itself, but whoever unpacks a release wants to.
EXTRA_DIST += \
	ARCHITECTURE.md CONTRIBUTING.md check quickstart doc/decisions doc/kernel.md doc/performance.md \
	doc/threats.md doc/vm.md \
	%D%/bench %D%/fresh-root %D%/fuzz %D%/integration %D%/lab %D%/lab_test %D%/lablib %D%/labtest \
	%D%/attack %D%/packages %D%/prepare.sh %D%/quickstart %D%/sabotage %D%/unit/run \
	%D%/vm
