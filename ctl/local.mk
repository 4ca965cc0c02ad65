# SPDX-License-Identifier: ISC
bin_PROGRAMS += atelier
# Everything but main(), so that the unit tests can link it.
noinst_LTLIBRARIES += libctl.la
libctl_la_SOURCES = \
	%D%/answer.c %D%/answer.h \
	%D%/args.c %D%/args.h \
	%D%/client.c %D%/client.h \
	%D%/cmd.h \
	%D%/cmd_caller.c \
	%D%/cmd_group.c \
	%D%/cmd_run.c \
	%D%/cmd_status.c \
	%D%/cmd_user.c \
	%D%/event.c %D%/event.h \
	%D%/exit.c %D%/exit.h \
	%D%/run_args.c %D%/run_args.h \
	%D%/say.c %D%/say.h \
	%D%/table.c %D%/table.h
libctl_la_CFLAGS = $(AM_CFLAGS) $(JANSSON_CFLAGS) $(CURL_CFLAGS) -fPIE
libctl_la_LIBADD = libcommon.la $(JANSSON_LIBS) $(CURL_LIBS)

atelier_SOURCES = %D%/main.c
atelier_CFLAGS = $(pie_cflags) $(JANSSON_CFLAGS)
atelier_LDFLAGS = $(pie_ldflags)
atelier_LDADD = libctl.la
