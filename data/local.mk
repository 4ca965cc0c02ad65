# SPDX-License-Identifier: ISC
# Files of the participants' own sshd. Installing them starts nothing and changes no file of others.
dist_programs_SCRIPTS += %D%/atelier-sshd-start

atelierconfdir = $(sysconfdir)/atelier
dist_atelierconf_DATA = %D%/sshd_config

pamservicesdir = $(sysconfdir)/pam.d
dist_pamservices_DATA = %D%/pam.d/atelier-sshd

# Has an effect only when somebody runs pam-auth-update(8).
pamconfigsdir = $(datadir)/pam-configs
dist_pamconfigs_DATA = %D%/pam-configs/atelier

# To be placed in /etc/ssh/sshd_config.d/, which belongs to the admin.
atelierdatadir = $(datadir)/atelier
dist_atelierdata_DATA = %D%/host-sshd.conf

# OpenSSH before 9.8 takes the PAM service of its program's name.
install-data-hook: data-install-hook
uninstall-hook: data-uninstall-hook
.PHONY: data-install-hook data-uninstall-hook
data-install-hook:
	$(MKDIR_P) $(DESTDIR)$(programsdir)
	ln -sfn /usr/sbin/sshd $(DESTDIR)$(programsdir)/atelier-sshd
data-uninstall-hook:
	rm -f $(DESTDIR)$(programsdir)/atelier-sshd

# An absolute directory by default, into which distcheck must not install.
AM_DISTCHECK_CONFIGURE_FLAGS = --with-programs-dir='$(abs_builddir)/$(distdir)/_inst/lib/atelier'
