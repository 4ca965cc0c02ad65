# SPDX-License-Identifier: ISC
# Files of the host. Installing them starts nothing and changes no file of others.
dist_programs_SCRIPTS += %D%/atelier-sshd-start

# The admin's once it is there: the hooks below do not replace it.
atelierconfdir = $(sysconfdir)/atelier
sshd_config = $(srcdir)/%D%/sshd_config
sshd_config_there = $(DESTDIR)$(atelierconfdir)/sshd_config
EXTRA_DIST += %D%/sshd_config

pamservicesdir = $(sysconfdir)/pam.d
dist_pamservices_DATA = %D%/pam.d/atelier-sshd

# Has an effect only when somebody runs pam-auth-update(8).
pamconfigsdir = $(datadir)/pam-configs
dist_pamconfigs_DATA = %D%/pam-configs/atelier

# To be placed in /etc/ssh/sshd_config.d/ and /etc/systemd/system/user@.service.d/, which belong to
# the admin; and an example of what may be in /etc/atelier (tests/unit/test_config_shown.c compares it).
atelierdatadir = $(datadir)/atelier
dist_atelierdata_DATA = %D%/atelier.conf.example %D%/host-sshd.conf %D%/user@.conf
# A hook of useradd(8), for admins who copy it to /etc/shadow-maint/useradd-post.d/.
dist_atelierdata_SCRIPTS = %D%/hooks/useradd-post

# What says where things are, is made for where they will be.
dist_unit_DATA = %D%/systemd/atelier.slice %D%/systemd/atelier.target \
	%D%/systemd/atelier-deadman.service %D%/systemd/atelier-deadman.timer
unit_DATA = \
	%D%/systemd/atelier-admin.socket \
	%D%/systemd/atelier-api.socket \
	%D%/systemd/atelier-core.socket \
	%D%/systemd/atelier-doctor.service \
	%D%/systemd/atelier-holder.service \
	%D%/systemd/atelier-pam.socket \
	%D%/systemd/atelier-session.socket \
	%D%/systemd/atelier-sshd.service \
	%D%/systemd/sessiond-api.service \
	%D%/systemd/sessiond.service
sshunitdir = $(unitdir)/ssh.service.d
dist_sshunit_DATA = %D%/systemd/ssh.service.d/atelier.conf
dist_sysusers_DATA = %D%/sysusers.d/atelier.conf
tmpfiles_DATA = %D%/tmpfiles.d/atelier.conf
# A file that nobody reads where there is no AppArmor.
apparmordir = $(sysconfdir)/apparmor.d/abstractions/nameservice.d
apparmor_DATA = %D%/apparmor/atelier
data_made = $(unit_DATA) $(tmpfiles_DATA) $(apparmor_DATA)
EXTRA_DIST += $(data_made:=.in)
CLEANFILES += $(data_made)

$(data_made): %: %.in Makefile
	$(AM_V_GEN)$(MKDIR_P) $(@D) && sed -e 's,@programsdir[@],$(programsdir),g' -e 's,@bindir[@],$(bindir),g' \
	    -e 's,@homesdir[@],$(homesdir),g' -e 's,@statedir[@],$(statedir),g' \
	    -e 's,@rundir[@],$(rundir),g' $(srcdir)/$@.in >$@.new && mv $@.new $@

# OpenSSH before 9.8 takes the PAM service of its program's name.
install-data-hook: data-install-hook
uninstall-hook: data-uninstall-hook
.PHONY: data-install-hook data-uninstall-hook
data-install-hook:
	$(MKDIR_P) $(DESTDIR)$(programsdir)
	ln -sfn /usr/sbin/sshd $(DESTDIR)$(programsdir)/atelier-sshd
	$(MKDIR_P) $(DESTDIR)$(atelierconfdir)
	@if ! test -e $(sshd_config_there); then \
	    $(INSTALL_DATA) $(sshd_config) $(sshd_config_there); \
	elif cmp -s $(sshd_config) $(sshd_config_there); then \
	    rm -f $(sshd_config_there).new; \
	else \
	    $(INSTALL_DATA) $(sshd_config) $(sshd_config_there).new; \
	    echo "$(sshd_config_there) has changes and stays; what is new is in sshd_config.new"; \
	fi
data-uninstall-hook:
	rm -f $(DESTDIR)$(programsdir)/atelier-sshd $(sshd_config_there).new
	@for dir in $(apparmordir) $(sysconfdir)/apparmor.d/abstractions $(sysconfdir)/apparmor.d; do \
	    rmdir $(DESTDIR)$$dir 2>/dev/null || break; \
	done
	@if cmp -s $(sshd_config) $(sshd_config_there); then \
	    rm -f $(sshd_config_there); \
	elif test -e $(sshd_config_there); then \
	    echo "$(sshd_config_there) has changes and stays"; \
	fi

# An absolute directory by default, into which distcheck must not install.
AM_DISTCHECK_CONFIGURE_FLAGS = --with-programs-dir='$(abs_builddir)/$(distdir)/_inst/lib/atelier'
