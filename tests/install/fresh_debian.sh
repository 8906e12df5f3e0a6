#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# fresh_debian.sh SUITE [COMMAND...]: makes a bare Debian tree, puts the committed sources into it, and runs
# `./dev COMMAND...` there, by default the README's two: test and demo. Needs root and debootstrap.
# TREES=FOLDER keeps the trees between runs.
set -euo pipefail

suite=${1:?a Debian suite, such as bookworm or trixie}
shift
[ "$(id -u)" = 0 ] || { echo "SKIP: debootstrap needs root"; exit 77; }
command -v debootstrap >/dev/null || { echo "SKIP: no debootstrap"; exit 77; }

source=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
trees=${TREES:-$(mktemp -d)}
tree=$trees/$suite

# --one-file-system: if a mount should survive, what it shows is not ours to delete.
leave() {
    for place in proc dev; do
        if mountpoint -q "$tree/$place"; then umount "$tree/$place"; fi
    done
    if [ -z "${TREES:-}" ]; then rm -rf --one-file-system "$trees"; fi
}
trap leave EXIT

if [ ! -e "$tree/debootstrapped" ]; then
    mkdir -p "$tree"
    debootstrap --variant=minbase "$suite" "$tree"
    touch "$tree/debootstrapped"
fi
mount -t proc proc "$tree/proc"
mount --bind /dev "$tree/dev"
cp /etc/resolv.conf "$tree/etc/resolv.conf"
rm -rf --one-file-system "$tree/src"  # a kept tree must not lend today's commit yesterday's files
mkdir -p "$tree/src"
git -C "$source" archive HEAD | tar -x -C "$tree/src"
# German, so that whoever reads what apt prints is seen to ask for the untranslated text.
dev() {
    chroot "$tree" /usr/bin/env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 LANGUAGE=de /src/dev "$@"
}
if [ $# != 0 ]; then
    dev "$@"
else
    dev test
    dev demo
fi
