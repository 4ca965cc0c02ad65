#!/bin/bash
# SPDX-License-Identifier: ISC
# setup.sh - runs in the new root, before any service: installed files, accounts, directories.
#
# Usage: setup.sh LABLIB [STAGE] [groups]; groups: sessiond gets control groups
set -euo pipefail

lib=$1
stage=${2-}
groups=${3-}
umask 022
# It removes accounts and state: never on a machine that is not a lab.
[[ $(hostname) == lab && -d /run/lab && $(stat -f -c %T /) == overlayfs ]]

# Into directories that exist: their mode, and links such as /lib, stay as they are.
if [[ -n $stage ]]; then
    tar -C "$stage" -cf - . |
        tar -C / --keep-directory-symlink --no-overwrite-dir --no-same-owner -xpf -
    # Below /usr/local the linker finds a library by its cache only.
    if [[ -d $stage/usr/local/lib ]]; then ldconfig; fi
fi
install -D -m 0755 "$lib/labd" /usr/local/libexec/lab/labd
install -D -m 0755 "$lib/lab-service" /usr/local/sbin/lab-service
install -D -m 0755 "$lib/probe.py" /usr/local/bin/lab-probe

# The machine's own may be links out of the overlay, or files mounted over by a container.
rm -f /etc/hostname /etc/hosts /etc/resolv.conf
echo lab >/etc/hostname
printf '%s\n' '127.0.0.1 localhost lab' '::1 localhost lab' >/etc/hosts
# The world listens on no port 53, so that a lookup fails at once instead of after a timeout.
echo 'nameserver 198.51.100.2' >/etc/resolv.conf
install -m 0664 -g utmp /dev/null /run/utmp
install -m 0664 -g utmp /dev/null /var/log/wtmp
install -m 0660 -g utmp /dev/null /var/log/btmp
rm -f /var/log/lastlog
install -d -m 0755 /run/sshd

# What closes the other doors of the host, as on a real one. pam-auth-update takes a quarter of a
# second, and needs nothing of what follows. Without --force it keeps files that were edited.
denied_pid=
if [[ -e /usr/share/pam-configs/atelier ]]; then
    DEBIAN_FRONTEND=noninteractive pam-auth-update --package --force --enable atelier </dev/null &
    denied_pid=$!
fi
if [[ -e /usr/share/atelier/host-sshd.conf ]]; then
    install -D -m 0644 /usr/share/atelier/host-sshd.conf /etc/ssh/sshd_config.d/00-atelier.conf
fi

# Accounts first, with the NSS sources that are certainly there; the module's line comes last.
sed -i -E 's/^(passwd|group):.*/\1: files/' /etc/nsswitch.conf
sed -i -E 's/^(UID_MAX|GID_MAX)[[:space:]].*/\1 9999/' /etc/login.defs
if [[ -e /etc/adduser.conf ]]; then
    sed -i -E '/^#?LAST_(UID|GID)=/d' /etc/adduser.conf
    printf '%s\n' 'LAST_UID=9999' 'LAST_GID=9999' >>/etc/adduser.conf
fi
# Those of the machine (it may run atelier, or be a lab itself) are not the lab's.
for name in atelier apiuser apiuser2; do
    if getent passwd "$name" >/dev/null; then userdel "$name"; fi
done
for name in atelier atelier-api; do
    if getent group "$name" >/dev/null; then groupdel "$name"; fi
done
groupadd --system atelier-api
for entry in apiuser:990 apiuser2:991; do
    name=${entry%:*} uid=${entry#*:}
    # A system user of this machine may have the number: it gives way, in the lab only.
    if taken=$(getent passwd "$uid"); then userdel "${taken%%:*}"; fi
    useradd --system --uid "$uid" --gid atelier-api --home-dir /nonexistent \
        --shell /usr/sbin/nologin "$name"
done
useradd --system --user-group --home-dir /nonexistent --shell /usr/sbin/nologin atelier
sed -i -E 's/^(passwd|group):.*/\1: files atelier/' /etc/nsswitch.conf

# An administrator who does without says so.
rm -f /etc/default/atelier
[[ -n $groups ]] || echo SESSIOND_CGROUP= >/etc/default/atelier

rm -rf /var/lib/atelier /home/atelier
install -d -m 0755 /run/atelier /var/lib/atelier
install -d -m 0700 -o atelier -g atelier /var/lib/atelier/registry /var/lib/atelier/ledger
install -d -m 0755 -o atelier -g atelier /var/lib/atelier/nss
install -d -m 0700 /home/atelier
if [[ -n $denied_pid ]]; then
    wait "$denied_pid"
    grep -q 10000 /etc/pam.d/common-account
fi
