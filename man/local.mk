# SPDX-License-Identifier: ISC
dist_man_MANS += \
	%D%/atelier.1 \
	%D%/atelier.conf.5 \
	%D%/atelier-api.7 \
	%D%/atelier-setup.8 \
	%D%/atelier-sshd.8 \
	%D%/nss_atelier.8 \
	%D%/pam_atelier.8 \
	%D%/sessiond.8 \
	%D%/sessiond-api.8
