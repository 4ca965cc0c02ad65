# SPDX-License-Identifier: ISC
noinst_LTLIBRARIES += libsessiond_shared.la
libsessiond_shared_la_SOURCES = \
	%D%/shared/home_fill.c %D%/shared/home_fill.h \
	%D%/shared/listen_fds.c %D%/shared/listen_fds.h \
	%D%/shared/sha256.c %D%/shared/sha256.h \
	%D%/shared/log.c %D%/shared/log.h \
	%D%/shared/notify.c %D%/shared/notify.h \
	%D%/shared/resolve_wire.h

include sessiond/disk/local.mk
include sessiond/holder/local.mk
include sessiond/monitor/local.mk
include sessiond/resolve/local.mk
include sessiond/api/local.mk
