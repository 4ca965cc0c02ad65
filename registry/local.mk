# SPDX-License-Identifier: ISC
noinst_LTLIBRARIES += libregistry.la
libregistry_la_SOURCES = \
	%D%/backup.c %D%/backup.h \
	%D%/caller.c %D%/caller.h \
	%D%/change.c %D%/change.h \
	%D%/email.c %D%/email.h \
	%D%/external_id.c %D%/external_id.h \
	%D%/group.c %D%/group.h \
	%D%/group_change.c \
	%D%/id.c %D%/id.h \
	%D%/index_image.c %D%/index_image.h \
	%D%/index_rows.c %D%/index_rows.h \
	%D%/index_write.c %D%/index_write.h \
	%D%/ledger.c %D%/ledger.h \
	%D%/link.c \
	%D%/name.c %D%/name.h \
	%D%/name_next.c %D%/name_next.h \
	%D%/refusal.c \
	%D%/registry.c %D%/registry.h \
	%D%/registry_internal.h \
	%D%/reserved.def \
	%D%/restore.c \
	%D%/restore_check.c %D%/restore_check.h \
	%D%/restore_internal.h \
	%D%/restore_merge.c \
	%D%/run.c \
	%D%/sabotage.h \
	%D%/schema.c %D%/schema.h \
	%D%/session.c \
	%D%/statement.c %D%/statement.h \
	%D%/statements.def \
	%D%/user.c %D%/user.h \
	%D%/user_change.c \
	%D%/user_create.c \
	%D%/user_state.c %D%/user_state.h \
	%D%/user_text.c %D%/user_text.h
libregistry_la_CFLAGS = $(AM_CFLAGS) $(SQLITE_CFLAGS) $(SODIUM_CFLAGS)
libregistry_la_LIBADD = libcommon.la $(SQLITE_LIBS) $(SODIUM_LIBS)
