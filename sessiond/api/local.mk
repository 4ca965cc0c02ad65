# SPDX-License-Identifier: ISC
# What can be tested without sockets, registry or sessiond is in a library of its own.
noinst_LTLIBRARIES += libapi.la
libapi_la_SOURCES = \
	%D%/caller_input.c %D%/caller_input.h \
	%D%/clock.h \
	%D%/cut.c %D%/cut.h \
	%D%/error.c %D%/error.h \
	%D%/event.c %D%/event.h \
	%D%/group_input.c %D%/group_input.h \
	%D%/import_errors.c %D%/import_errors.h \
	%D%/import_input.c %D%/import_input.h \
	%D%/inbound.c %D%/inbound.h \
	%D%/json_in.c %D%/json_in.h \
	%D%/json_out.c %D%/json_out.h \
	%D%/link_input.c %D%/link_input.h \
	%D%/login.c %D%/login.h \
	%D%/network_view.c %D%/network_view.h \
	%D%/outcome.c %D%/outcome.h \
	%D%/run_spec.c %D%/run_spec.h \
	%D%/status.c %D%/status.h \
	%D%/text.c %D%/text.h \
	%D%/timestamp.c %D%/timestamp.h \
	%D%/user_input.c %D%/user_input.h \
	%D%/value.c %D%/value.h \
	%D%/verdict.c %D%/verdict.h
libapi_la_CFLAGS = $(AM_CFLAGS) $(JANSSON_CFLAGS) $(EVENT_CFLAGS) $(SODIUM_CFLAGS)
libapi_la_LIBADD = libregistry.la libpolicy_config.la libcommon.la $(JANSSON_LIBS) $(EVENT_LIBS) $(SODIUM_LIBS)

programs_PROGRAMS += sessiond-api
sessiond_api_SOURCES = \
	%D%/app.h \
	%D%/audit.c %D%/audit.h \
	%D%/backup.c \
	%D%/callers.c \
	%D%/core.c %D%/core.h \
	%D%/group_change.c \
	%D%/group_view.c %D%/group_view.h \
	%D%/groups.c \
	%D%/handlers.h \
	%D%/hangup.c %D%/hangup.h \
	%D%/health.c %D%/health.h \
	%D%/hostcheck.c %D%/hostcheck.h \
	%D%/hostlist.c %D%/hostlist.h \
	%D%/http.c %D%/http.h \
	%D%/import_answer.c %D%/import_answer.h \
	%D%/imports.c \
	%D%/index.c \
	%D%/limits.c %D%/limits.h \
	%D%/share.h \
	%D%/links.c \
	%D%/lock.c %D%/lock.h \
	%D%/locked.c %D%/locked.h \
	%D%/lockout.c %D%/lockout.h \
	%D%/main.c \
	%D%/network.c %D%/network.h \
	%D%/nsswitch.c %D%/nsswitch.h \
	%D%/pam.c %D%/pam.h \
	%D%/response.c %D%/response.h \
	%D%/restore.c \
	%D%/route.c %D%/route.h \
	%D%/run.c %D%/run.h \
	%D%/runs.c \
	%D%/session.c %D%/session.h \
	%D%/sessions.c \
	%D%/shells.c %D%/shells.h \
	%D%/subject.c %D%/subject.h \
	%D%/user_change.c \
	%D%/user_create.c \
	%D%/user_delete.c \
	%D%/user_view.c %D%/user_view.h \
	%D%/users.c
sessiond_api_CFLAGS = $(pie_cflags) $(MHD_CFLAGS) $(JANSSON_CFLAGS) $(EVENT_CFLAGS) $(SODIUM_CFLAGS)
sessiond_api_LDFLAGS = $(pie_ldflags)
sessiond_api_LDADD = libapi.la libmagic_link.la libsessiond_shared.la $(MHD_LIBS)

# Never installed: conditions of statements can be taken out one at a time (tests/sabotage). The
# objects are the shipped ones but for these, which come before those of the libraries.
EXTRA_PROGRAMS += sessiond/api/sessiond-api-sabotage
CLEANFILES += sessiond/api/sessiond-api-sabotage$(EXEEXT)
sessiond_api_sessiond_api_sabotage_SOURCES = common/sabotage.c registry/sabotage.c \
	registry/statement.c
sessiond_api_sessiond_api_sabotage_CPPFLAGS = $(AM_CPPFLAGS) -DATELIER_SABOTAGE
sessiond_api_sessiond_api_sabotage_CFLAGS = $(pie_cflags) $(SQLITE_CFLAGS)
sessiond_api_sessiond_api_sabotage_LDFLAGS = $(pie_ldflags)
sessiond_api_sessiond_api_sabotage_LDADD = $(sessiond_api_OBJECTS) $(sessiond_api_LDADD)

EXTRA_DIST += %D%/openapi.yaml
