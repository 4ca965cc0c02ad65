# SPDX-License-Identifier: ISC
programs_PROGRAMS += atelier-image
atelier_image_SOURCES = \
	%D%/convert.c %D%/convert.h \
	%D%/copy.c %D%/copy.h \
	%D%/image.c %D%/image.h \
	%D%/main.c \
	%D%/programs.c %D%/programs.h
atelier_image_CFLAGS = $(pie_cflags)
atelier_image_LDFLAGS = $(pie_ldflags)
atelier_image_LDADD = libsessiond_shared.la libcommon.la
