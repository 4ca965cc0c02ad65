# SPDX-License-Identifier: ISC
programs_PROGRAMS += sessiond/resolve/resolve
sessiond_resolve_resolve_SOURCES = \
	%D%/resolve.c \
	sessiond/shared/resolve_wire.h
sessiond_resolve_resolve_CFLAGS = $(pie_cflags) $(CARES_CFLAGS) $(SECCOMP_CFLAGS)
sessiond_resolve_resolve_LDFLAGS = $(pie_ldflags)
sessiond_resolve_resolve_LDADD = $(CARES_LIBS) $(SECCOMP_LIBS)
