# SPDX-License-Identifier: ISC
noinst_LTLIBRARIES += libmagic_link.la
libmagic_link_la_SOURCES = \
	%D%/code.c %D%/code.h \
	%D%/key.c %D%/key.h \
	%D%/limit.c %D%/limit.h \
	%D%/link.c \
	%D%/magic_link.h \
	%D%/qr.c \
	%D%/secret.h \
	%D%/token.c %D%/token.h \
	%D%/typed.c %D%/typed.h \
	%D%/url.c
libmagic_link_la_CFLAGS = $(AM_CFLAGS) $(SODIUM_CFLAGS) $(QRENCODE_CFLAGS)
libmagic_link_la_LIBADD = libcommon.la $(SODIUM_LIBS) $(QRENCODE_LIBS)
