# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# To be sourced: a bare Debian tree with the committed sources in /src. Needs root and debootstrap.
#   open_tree SUITE      makes it, or goes on with a kept one; its folder is in $tree
#   in_tree COMMAND...   runs a command there, without this machine's environment
#   without_retrace      purges the package and its data from a kept tree
#   make_older PACKAGE   writes /root/older.deb there: the package under an older version, with another solver.toml
# TREES=FOLDER keeps the trees between runs. RETRACE_MUST_RUN=1 makes a failure of what would be skipped. What was mounted
# is unmounted when the shell ends.

skip() {
    if [ "${RETRACE_MUST_RUN:-}" = 1 ]; then echo "FAILED: $*"; exit 1; fi
    echo "SKIP: $*"
    exit 77
}

# --one-file-system: if a mount should survive, what it shows is not ours to delete.
leave() {
    for place in proc dev; do
        if mountpoint -q "$tree/$place"; then umount "$tree/$place" || umount -l "$tree/$place" || true; fi
    done
    if [ -z "${TREES:-}" ]; then rm -rf --one-file-system "$trees"; fi
}

open_tree() {
    local source
    [ "$(id -u)" = 0 ] || skip "debootstrap needs root"
    command -v debootstrap >/dev/null || skip "no debootstrap"
    source=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
    trees=${TREES:-$(mktemp -d)}
    tree=$trees/$1
    trap leave EXIT
    if [ ! -e "$tree/debootstrapped" ]; then
        mkdir -p "$tree"
        debootstrap --variant=minbase "$1" "$tree" || skip "debootstrap cannot make a tree of $1"
        touch "$tree/debootstrapped"
    fi
    mount -t proc proc "$tree/proc"
    mount --bind /dev "$tree/dev"
    cp /etc/resolv.conf "$tree/etc/resolv.conf"
    rm -rf --one-file-system "$tree/src"  # a kept tree must not lend today's commit yesterday's files
    mkdir -p "$tree/src"
    git -C "$source" archive HEAD | tar -x -C "$tree/src"
}

in_tree() {
    chroot "$tree" /usr/bin/env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 "$@"
}

without_retrace() {
    if [ -e "$tree/var/lib/dpkg/info/retrace.list" ]; then
        in_tree DEBIAN_FRONTEND=noninteractive apt-get purge -q -y retrace >/dev/null 2>&1
    fi
    rm -rf "$tree/var/lib/retrace" "$tree/etc/retrace"
}

make_older() {
    rm -rf "$tree/root/older"
    dpkg-deb --raw-extract "$1" "$tree/root/older"
    sed -i 's/^Version: .*/Version: 0.0.1~older/' "$tree/root/older/DEBIAN/control"
    echo '# a line of the version before' >>"$tree/root/older/etc/retrace/solver.toml"
    dpkg-deb --root-owner-group -Zgzip -z1 --build "$tree/root/older" "$tree/root/older.deb" >/dev/null
    rm -rf "$tree/root/older"
}
