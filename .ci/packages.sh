# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# What ./dev needs of Debian's archive: sourced by it, with its say, fail and root.
#
# An entry is a package or a choice. Alternatives are separated by `|`; an installed one counts, else the first that the
# archive has is taken. `a,b` means both, `a>=1` one that is new enough (Debian 12 has Boost 1.81 beside its default
# 1.74, which lacks what we need; Debian 13 has 1.83).
: "${root:?the clone, which ./dev names}"

as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"
    elif command -v sudo >/dev/null; then sudo "$@"
    else return 1
    fi
}

# Whether version $2 of package $1 (empty: none) is one that the alternative $3 asks for.
new_enough() {
    local least=${3#"$1"}
    [ -n "$2" ] && { [ -z "$least" ] || dpkg --compare-versions "$2" ge "${least#>=}"; }
}

# Prints those of the entries of which no alternative is installed.
missing_of() {
    local -A installed=()
    local status name version entry alternative part found all
    while read -r status name version; do
        if [ "$status" = installed ]; then installed[$name]=$version; fi
    done < <(dpkg-query -W -f '${db:Status-Status} ${Package} ${Version}\n')
    for entry in "$@"; do
        found=no
        for alternative in ${entry//|/ }; do
            all=yes
            for part in ${alternative//,/ }; do
                name=${part%%>=*}
                new_enough "$name" "${installed[$name]:-}" "$part" || all=no
            done
            if [ $all = yes ]; then found=yes; fi
        done
        if [ $found = no ]; then printf '%s\n' "$entry"; fi
    done
}

# Prints the packages of the first alternative that the archive has; fails if there is none.
available() {
    local alternative part name candidate all
    for alternative in ${1//|/ }; do
        all=()
        for part in ${alternative//,/ }; do
            name=${part%%>=*}
            candidate=$(apt-cache policy "$name" 2>/dev/null | sed -n 's/^ *Candidate: //p')
            if [ "$candidate" = "(none)" ] || ! new_enough "$name" "$candidate" "$part"; then continue 2; fi
            all+=("$name")
        done
        echo "${all[*]}"
        return 0
    done
    return 1
}

# Fetches the archive's lists, once; `lists` is then `fresh`, or `old` where that failed. Without the error mode a
# network that is down is no error to apt.
lists=
update_lists() {
    if [ -n "$lists" ]; then return 0; fi
    lists=fresh
    as_root apt-get update -q -o APT::Update::Error-Mode=any >&2 || lists=old
    if [ $lists = old ]; then say "dev: apt-get update failed; going on with the lists that are there"; fi
}

# install_packages ENTRY...: installs them. --no-remove: somebody's machine is not ours to take packages from.
install_packages() {
    local entry choice words chosen=()
    if ! as_root true; then
        say "dev: neither root nor sudo, so nothing can be installed"
        return 1
    fi
    update_lists
    for entry in "$@"; do
        if choice=$(available "$entry"); then
            read -ra words <<<"$choice"
            chosen+=("${words[@]}")
        fi
    done
    if [ ${#chosen[@]} = 0 ]; then return 1; fi
    say "dev: installing ${chosen[*]}"
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends --no-remove \
        "${chosen[@]}" >&2
}

# What to do where a Boost that is too old is in the way of the one that is missing.
explain_boost() {
    local others entry newer=()
    others=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' 'libboost*-dev' 2>/dev/null |
        sed -n 's/^installed //p')
    if [ -z "$others" ]; then return 0; fi
    for entry in "$@"; do
        if [[ $entry == libboost* ]]; then newer+=("$(available "$entry" || true)"); fi
    done
    say "dev: development packages of two versions of Boost conflict, and these are installed:"
    say "  ${others//$'\n'/ }"
    say "dev: to put the newer ones in their place (programs keep the libraries that they run with), as root:"
    say "  apt-get install --no-install-recommends ${newer[*]}"
}

need() {
    command -v dpkg-query >/dev/null || return 0
    local missing
    mapfile -t missing < <(missing_of "$@")
    if [ ${#missing[@]} = 0 ]; then return 0; fi
    install_packages "${missing[@]}" || true
    mapfile -t missing < <(missing_of "$@")
    if [ ${#missing[@]} = 0 ]; then return 0; fi
    say "dev: these Debian packages are missing and could not be installed (| means or, a comma and):"
    printf '  %s\n' "${missing[@]}" >&2
    if [[ ${missing[*]} == *libboost* ]]; then explain_boost "${missing[@]}"; fi
    fail "install them as root with apt-get install --no-install-recommends, then run this again"
}

# As need, but life goes on without, and says so each time. One by one: what cannot be installed keeps nothing else
# away. What the archive does not have is noted, and the network not asked for it again; all else is tried again.
want() {
    command -v dpkg-query >/dev/null || return 0
    local missing entry noted=$root/build/.packages-without-candidate
    mapfile -t missing < <(missing_of "$@")
    for entry in "${missing[@]}"; do
        if grep -qxF -- "$entry" "$noted" 2>/dev/null && ! available "$entry" >/dev/null; then
            say "dev: going on without $entry, which the archive does not have"
            continue
        fi
        install_packages "$entry" || true
        if [ -z "$(missing_of "$entry")" ]; then continue; fi
        say "dev: going on without $entry"
        if [ "$lists" = fresh ] && ! available "$entry" >/dev/null; then
            mkdir -p "$root/build"
            printf '%s\n' "$entry" >>"$noted"
        fi
    done
}
