# SPDX-License-Identifier: ISC
# prepare.sh - sourced by ./check and ./quickstart: what has to be there before anything can run.
#
# The caller sets top (the source tree). Nothing here reads input.
# shellcheck shell=bash
# shellcheck disable=SC2154  # top

# 0 on the release that everything is tested on, else 1 and its name on stdout.
release_is_known() {
    local id='' version='' name=''

    if [[ -r /etc/os-release ]]; then
        # shellcheck disable=SC1091
        IFS='|' read -r id version name < <(. /etc/os-release
            printf '%s|%s|%s\n' "${ID-}" "${VERSION_ID-}" "${PRETTY_NAME-}")
    fi
    [[ $id == debian && $version == 12 ]] && return 0
    printf '%s\n' "${name:-unknown system}"
    return 1
}

# Every package of tests/packages, one a line.
packages_wanted() {
    sed -E 's/[[:space:]]*#.*//; /^[[:space:]]*$/d' "$top/tests/packages"
}

# Those of them that are not installed, one a line.
packages_missing() {
    local -A installed=()
    local package status
    # shellcheck disable=SC2016  # dpkg-query fills it in
    local format='${db:Status-Abbrev} ${Package}\n'

    # dpkg-query fails when it does not know one of the names: that is an answer here.
    while read -r status package; do
        [[ $status == ii ]] && installed[$package]=1
    done < <(packages_wanted | xargs dpkg-query -W -f "$format" 2>/dev/null || true)
    while read -r package; do
        [[ -n ${installed[$package]-} ]] || printf '%s\n' "$package"
    done < <(packages_wanted)
}

# Install what is missing; when nothing is, apt is not called at all.
packages_install() {
    local -a missing=()

    mapfile -t missing < <(packages_missing)
    ((${#missing[@]} > 0)) || return 0
    # First: a fresh machine has no lists, those of an old one name packages that are gone.
    # One broken source of many is no reason to stop: whether it mattered, install will say.
    DEBIAN_FRONTEND=noninteractive apt-get -o Acquire::Retries=3 update </dev/null || true
    DEBIAN_FRONTEND=noninteractive apt-get -o Acquire::Retries=3 -o DPkg::Lock::Timeout=120 \
        install -y --no-install-recommends "${missing[@]}" </dev/null || return
    mapfile -t missing < <(packages_missing)
    ((${#missing[@]} == 0)) && return
    printf 'still not installed: %s\n' "${missing[*]}" >&2
    return 1
}

# Configure out of tree in the directory $1, with the options in the rest, and build. A tree that
# was configured with the same options is only brought up to date.
tree_build() {
    local build=$1 wanted

    shift
    wanted=$(printf '%s\n' "$@")
    if [[ ! -x $top/configure ]]; then
        (cd "$top" && autoreconf -fi) || return
    fi
    if [[ ! -e $build/Makefile || $(cat "$build/.options" 2>/dev/null) != "$wanted" ]]; then
        mkdir -p "$build"
        (cd "$build" && "$top/configure" "$@") || return
        printf '%s\n' "$wanted" >"$build/.options"
    fi
    make -C "$build" -j "$(nproc)"
}

# The options of the build that is tested and shown: a Debian package would use the same paths.
build_options() {
    printf '%s\n' --enable-werror --prefix=/usr --sysconfdir=/etc --localstatedir=/var \
        "--libdir=/usr/lib/$(gcc -print-multiarch)"
}
