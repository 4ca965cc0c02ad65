# SPDX-License-Identifier: ISC
# What `atelier doctor` lets its throw-away participants run. In no need of any library.
programs_PROGRAMS += attack/attack
attack_attack_SOURCES = \
	%D%/attack.h \
	%D%/calls.c \
	%D%/files.c \
	%D%/flood.c \
	%D%/ipc.c \
	%D%/jobs.c \
	%D%/main.c \
	%D%/net.c \
	%D%/process.c \
	%D%/say.c
attack_attack_CFLAGS = $(pie_cflags)
attack_attack_LDFLAGS = $(pie_ldflags)
