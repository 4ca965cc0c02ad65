# SPDX-License-Identifier: ISC
lint_scripts = \
	%D%/banned %D%/format %D%/headers %D%/layers %D%/manpages %D%/repo %D%/run %D%/selftest \
	%D%/shell %D%/size %D%/spdx %D%/spelling
EXTRA_DIST += $(lint_scripts) %D%/lib.sh %D%/spelling.words

# The others need tools that a build does not: make lint.
TESTS += %D%/layers

.PHONY: lint lint-selftest
lint:
	LINT_BUILD='$(abs_top_builddir)' $(srcdir)/%D%/run
lint-selftest:
	$(srcdir)/%D%/selftest
