# SPDX-License-Identifier: ISC
noinst_HEADERS += %D%/magic_link.h
