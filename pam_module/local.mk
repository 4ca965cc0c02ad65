# SPDX-License-Identifier: ISC
# The module goes into every login's root process: its own objects, hidden, libc and libpam alone.

pam_module_sources = \
	%D%/account.c \
	%D%/ask.c %D%/ask.h \
	%D%/authenticate.c \
	%D%/cage.c %D%/cage.h \
	%D%/field.c %D%/field.h \
	%D%/join.c %D%/join.h \
	%D%/open.c %D%/open.h \
	%D%/options.c %D%/options.h \
	%D%/prompt.c %D%/prompt.h \
	%D%/session.c %D%/session.h \
	%D%/talk.c %D%/talk.h \
	%D%/who.c %D%/who.h \
	common/fd.c \
	common/str.c
pam_module_ldflags = $(AM_LDFLAGS) -shared -module -avoid-version \
	-Wl,--version-script=$(top_srcdir)/%D%/pam_atelier.map \
	-Wl,-z,defs -Wl,--as-needed

pam_LTLIBRARIES += pam_atelier.la
pam_atelier_la_SOURCES = $(pam_module_sources)
pam_atelier_la_LDFLAGS = $(pam_module_ldflags)
pam_atelier_la_LIBADD = $(PAM_LIBS)
EXTRA_pam_atelier_la_DEPENDENCIES = %D%/pam_atelier.map
EXTRA_DIST += %D%/pam_atelier.map

# Never installed: the same sources for the tests, with sockets in their working directory.
# -rpath makes libtool build a shared object that is not installed.
check_LTLIBRARIES += pam_atelier_test.la
pam_atelier_test_la_SOURCES = $(pam_module_sources)
pam_atelier_test_la_CPPFLAGS = $(AM_CPPFLAGS) \
	-DPAM_ASK_PATH='"pam-under-test.sock"' -DSESSION_OPEN_PATH='"session-under-test.sock"'
pam_atelier_test_la_LDFLAGS = $(pam_module_ldflags) -rpath /nowhere
pam_atelier_test_la_LIBADD = $(PAM_LIBS)
EXTRA_pam_atelier_test_la_DEPENDENCIES = %D%/pam_atelier.map

# Never installed: one protection can be taken away by a module argument (tests/sabotage).
check_LTLIBRARIES += pam_atelier_sabotage.la
pam_atelier_sabotage_la_SOURCES = $(pam_module_sources)
pam_atelier_sabotage_la_CPPFLAGS = $(AM_CPPFLAGS) -DATELIER_SABOTAGE
pam_atelier_sabotage_la_LDFLAGS = $(pam_module_ldflags) -rpath /nowhere
pam_atelier_sabotage_la_LIBADD = $(PAM_LIBS)
EXTRA_pam_atelier_sabotage_la_DEPENDENCIES = %D%/pam_atelier.map

# libpam opens pam_atelier.so by its path; nobody links against it.
install-data-hook: pam-install-hook
uninstall-hook: pam-uninstall-hook
.PHONY: pam-install-hook pam-uninstall-hook
pam-install-hook:
	rm -f $(DESTDIR)$(pamdir)/pam_atelier.la
pam-uninstall-hook:
	rm -f $(DESTDIR)$(pamdir)/pam_atelier.so
