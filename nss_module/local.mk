# SPDX-License-Identifier: ISC
# The module goes into every process of the host: its own objects, hidden, libc alone.

nss_module_sources = \
	%D%/group.c \
	%D%/lookup.c %D%/lookup.h \
	%D%/nss_atelier.h \
	%D%/passwd.c \
	common/index_read.c \
	common/str.c
# The map lists what is seen from outside, which is what glibc calls.
# nodelete: glibc never unloads modules, nobody else should.
nss_module_ldflags = $(AM_LDFLAGS) -shared \
	-Wl,--version-script=$(top_srcdir)/%D%/nss_atelier.map \
	-Wl,-z,defs -Wl,-z,nodelete -Wl,--as-needed

nss_LTLIBRARIES += libnss_atelier.la
libnss_atelier_la_SOURCES = $(nss_module_sources)
libnss_atelier_la_LDFLAGS = $(nss_module_ldflags) -version-info 2:0:0
EXTRA_libnss_atelier_la_DEPENDENCIES = %D%/nss_atelier.map
EXTRA_DIST += %D%/nss_atelier.map

# The same sources for the tests, with an index below the working directory of the test.
# -rpath makes libtool build a shared object that is not installed.
check_LTLIBRARIES += libnss_atelier_test.la
libnss_atelier_test_la_SOURCES = $(nss_module_sources)
libnss_atelier_test_la_CPPFLAGS = $(AM_CPPFLAGS) -DNSS_INDEX_DIR='"index-under-test"'
libnss_atelier_test_la_LDFLAGS = $(nss_module_ldflags) -module -avoid-version -rpath /nowhere
EXTRA_libnss_atelier_test_la_DEPENDENCIES = %D%/nss_atelier.map

# Only libnss_atelier.so.2 is of use to glibc; nobody links against the module.
install-data-hook: nss-install-hook
uninstall-hook: nss-uninstall-hook
.PHONY: nss-install-hook nss-uninstall-hook
nss-install-hook:
	rm -f $(DESTDIR)$(nssdir)/libnss_atelier.la $(DESTDIR)$(nssdir)/libnss_atelier.so
nss-uninstall-hook:
	rm -f $(DESTDIR)$(nssdir)/libnss_atelier.so.2*
