# SPDX-License-Identifier: ISC
programs_PROGRAMS += atelier-holder
atelier_holder_SOURCES = %D%/holder.c
atelier_holder_CFLAGS = $(pie_cflags)
atelier_holder_LDFLAGS = $(pie_ldflags)
atelier_holder_LDADD = libsessiond_shared.la libcommon.la
