# SPDX-License-Identifier: ISC
# pw_shell of every user. Below the directory: a program "shell" at the top would be in its way.
programs_PROGRAMS += shell/shell
shell_shell_SOURCES = %D%/main.c %D%/shell.c %D%/shell.h
shell_shell_CFLAGS = $(pie_cflags)
shell_shell_LDFLAGS = $(pie_ldflags)
