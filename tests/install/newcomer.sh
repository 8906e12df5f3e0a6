#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# newcomer.sh SUITE [FOLDER]: on a bare Debian with the package of FOLDER (RETRACE_PACKAGES, else build/package), in a
# network of its own, a person earns with one command, posts a task from a browser and watches a cheater being convicted
# in the console. Needs root, debootstrap, the network, Node, npm and Chromium. TREES=FOLDER keeps the tree,
# RETRACE_SCREENSHOTS=FOLDER takes the pictures (else newcomer-pictures here).
set -euo pipefail
here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
# shellcheck source=tests/install/debian_tree.sh
source "$here/debian_tree.sh"

suite=${1:?bookworm or trixie}
packages=${2:-${RETRACE_PACKAGES:-$here/../../build/package}}
fail() { echo "newcomer.sh: $*"; exit 1; }
declare -A number=([bookworm]=12 [trixie]=13)
package=$(echo "$packages"/retrace_*~deb"${number[$suite]}"_*.deb)
[ -f "$package" ] || skip "no $package; ./dev package makes it"
command -v ip >/dev/null || skip "no ip (Debian package iproute2)"

open_tree "$suite"
without_retrace
rm -rf "$tree"/home/*  # of a kept tree
cp "$package" "$tree/root/retrace.deb"
apt() { in_tree DEBIAN_FRONTEND=noninteractive timeout 900 apt-get -q "$@"; }
apt -o APT::Update::Error-Mode=any update || skip "Debian's package lists cannot be fetched"
apt install -y /root/retrace.deb >"$tree/install.log" 2>&1 || fail "it does not install: $(tail -n 20 "$tree/install.log")"
for user in newcomer stranger; do
    in_tree id "$user" >/dev/null 2>&1 || in_tree useradd "$user"
    in_tree install -d -o "$user" -g "$user" "/home/$user"
done

# The installed program as one of its users, in place of this shell, so that a signal reaches it.
program=$trees/retrace-as
cat >"$program" <<PROGRAM
#!/bin/sh
user=\$1
shift
exec chroot "$tree" /usr/bin/env -i HOME="/home/\$user" PATH=/usr/bin:/bin LANG=C.UTF-8 \\
    setpriv --reuid "\$user" --regid "\$user" --clear-groups retrace "\$@"
PROGRAM
chmod 755 "$program"
RETRACE_SCREENSHOTS=$(realpath -m "${RETRACE_SCREENSHOTS:-newcomer-pictures}")
export RETRACE_SCREENSHOTS
pictures=(earns posts dispute convicts task)
for name in "${pictures[@]}"; do rm -f "$RETRACE_SCREENSHOTS/newcomer-$name.png"; done  # of an earlier run
status=0
"$here/../functional/console/run" "$program" newcomer "$tree" || status=$?
if [ $status = 77 ]; then skip "the browser's test was skipped"; fi
[ $status = 0 ] || exit $status
for name in "${pictures[@]}"; do
    [ -s "$RETRACE_SCREENSHOTS/newcomer-$name.png" ] || fail "no picture of: $name"
done
echo "pictures in $RETRACE_SCREENSHOTS"
