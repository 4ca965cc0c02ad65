# SPDX-License-Identifier: ISC
# lib.sh - what the lints share. Sourced, with the source tree as the working directory afterwards.
# shellcheck shell=bash
set -euo pipefail
export LC_ALL=C

LINT_DIR=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cd "${LINT_ROOT:-$LINT_DIR/../..}"

# What was found; lint_end turns it into the exit code.
lint_findings=0

finding() {
    printf '%s\n' "$*"
    lint_findings=$((lint_findings + 1))
}

# A tool or a file is missing: 77 is automake's "skipped".
skip() {
    printf 'skipped: %s\n' "$*"
    exit 77
}

need() {
    command -v "$1" >/dev/null 2>&1 || skip "$1 is not installed"
}

lint_end() {
    [ "$lint_findings" -eq 0 ]
}

# Files of the tree, one a line: what git knows or would add; without git, what a tarball holds.
files() {
    if [ -e .git ] && git rev-parse --git-dir >/dev/null 2>&1; then
        git ls-files --cached --others --exclude-standard | while IFS= read -r f; do
            [ -f "$f" ] && printf '%s\n' "$f"
        done
    else
        find . -type d \( -name 'build*' -o -name autom4te.cache -o -name .git \) -prune \
            -o -type f -print | sed 's,^\./,,'
    fi | sort
}

# files_like REGEX: those whose path matches; none is no error.
files_like() {
    files | grep -E -- "$1" || true
}

# code_of DIR FILE...: copies below DIR without comments, string contents and pragmas; line numbers
# stay.
code_of() {
    local dir=$1
    shift
    awk -v dir="$dir" '
    BEGIN { string_end = "^([^\"\\\\]|\\\\.)*\""; char_end = "^([^\047\\\\]|\\\\.)*\047" }
    FNR == 1 { if (out_file) close(out_file); out_file = dir "/" FILENAME; comment = 0 }
    {
        out = ""; rest = $0
        while (rest != "") {
            if (comment) {
                if (!(i = index(rest, "*/"))) break
                rest = substr(rest, i + 2); comment = 0
                continue
            }
            if (!match(rest, /\/\*|\/\/|"|\047/)) { out = out rest; break }
            out = out substr(rest, 1, RSTART - 1)
            mark = substr(rest, RSTART, RLENGTH); rest = substr(rest, RSTART + RLENGTH)
            if (mark == "//") break
            if (mark == "/*") { comment = 1; out = out " "; continue }
            # A string or character ends at its mark, unless escaped, or with the line.
            ended = match(rest, mark == "\"" ? string_end : char_end)
            rest = ended ? substr(rest, RLENGTH + 1) : ""
            out = out mark mark
        }
        sub(/^[ \t]*#[ \t]*pragma.*/, "", out)
        print out > out_file
    }' "$@"
}
