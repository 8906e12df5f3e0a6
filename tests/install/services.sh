#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# services.sh SUITE [FOLDER]: a bare Debian with systemd and the packages of FOLDER (RETRACE_PACKAGES, else
# build/package) boots in a container of systemd-nspawn. Node, solver and verifier run as the hardened services that the
# package brings, first those of an older version; a requester buys a training from them, the package is upgraded while
# they run, and a second training is bought on the same chain. They end when they are told to. Needs root, debootstrap,
# systemd-nspawn and the network.
set -euo pipefail
# shellcheck source=tests/install/debian_tree.sh
source "$(dirname "${BASH_SOURCE[0]}")/debian_tree.sh"

suite=${1:?bookworm or trixie}
packages=${2:-${RETRACE_PACKAGES:-$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)/build/package}}
fail() { echo "services.sh: $*"; exit 1; }
declare -A number=([bookworm]=12 [trixie]=13)
package=$(echo "$packages"/retrace_*~deb"${number[$suite]}"_*.deb)
[ -f "$package" ] || skip "no $package; ./dev package makes it"
command -v systemd-nspawn >/dev/null || skip "no systemd-nspawn (Debian package systemd-container)"

open_tree "$suite"
without_retrace
rm -rf "$tree"/root/* "$tree/root/.retrace"  # of a kept tree
cp "$package" "$tree/root/retrace.deb"
make_older "$package"
apt() { in_tree DEBIAN_FRONTEND=noninteractive timeout 900 apt-get -q "$@"; }
apt -o APT::Update::Error-Mode=any update || skip "Debian's package lists cannot be fetched"
apt install -y systemd dbus man-db /root/older.deb >"$tree/install.log" 2>&1 ||
    fail "it does not install: $(tail -n 20 "$tree/install.log")"

cat >"$tree/root/try.sh" <<'TRY'
#!/bin/bash
set -euxo pipefail
cd /root
trap 'rm -f /usr/sbin/policy-rc.d' EXIT
# The units are understood, the manual pages that they name exist, and their exposure stays below systemd's bound for OK.
for service in node solver verifier; do
    [ -z "$(systemd-analyze verify /usr/lib/systemd/system/retrace-$service.service 2>&1)" ]
    systemd-analyze security --threshold=20 --no-pager retrace-$service.service | tail -n 1
done
# What an administrator does: keys, their passphrases, a genesis, the lines of the configuration that are theirs.
echo a passphrase >passphrase
key_of() {  # USER HOME
    install -o "$1" -m 0600 passphrase "$2/first-passphrase"
    runuser -u "$1" -- env HOME="$2" retrace wallet new --light --passphrase-file "$2/first-passphrase" --json |
        grep -oE '0x[0-9a-fA-F]{40}' | head -n 1
    rm "$2/first-passphrase"
}
requester=$(key_of root /root)
alloc="\"$requester\": {\"balance\": \"1000000000000000000000000\"}"
for role in solver verifier; do
    address=$(key_of retrace-$role /var/lib/retrace/$role)
    alloc+=", \"$address\": {\"balance\": \"1000000000000000000000\"}"
    install -m 0600 passphrase /etc/retrace/$role.passphrase
    sed -i "s/^# key = .*/key = \"$address\"/" /etc/retrace/$role.toml
    printf 'require_sandbox = true\nstake = "200"\nlisten = "127.0.0.1"\n' >>/etc/retrace/$role.toml
done
echo 'price = "0.5"' >>/etc/retrace/solver.toml
tr -d '\n' </usr/share/doc/retrace/docs/examples/genesis.json |
    sed "s/\"alloc\": {[^}]*}[^}]*}[^}]*}/\"alloc\": {$alloc}/" >/etc/retrace/genesis.json
sed -i 's/^port = .*/port = 18547/' /etc/retrace/node.toml
sed -i 's/127.0.0.1:8545/127.0.0.1:18547/; s/^port = .*/port = 0/' /etc/retrace/solver.toml /etc/retrace/verifier.toml
printf '[engine]\nblock_ms = 100\n' >>/etc/retrace/node.toml
export RETRACE_NODE=http://127.0.0.1:18547 HOME=/root

began=$(date +%s)
systemctl start retrace-node retrace-solver retrace-verifier
for _ in $(seq 100); do
    if retrace stake show "$(grep -oE '0x[0-9a-fA-F]{40}' /etc/retrace/verifier.toml)" | grep -q 200; then break; fi
    sleep 0.5
done
awk 'BEGIN { srand(1); for (i = 0; i < 400; ++i) { a = rand(); b = rand(); print a "," b "," (a > b) } }' >table.csv
retrace task compile mlp --data table.csv --steps 40 --checkpoint-every 20 --batch 16 --hidden 8 --auditors 1 \
    --audit-percent 100 -o task
buy() {
    timeout 240 retrace task submit task --key "$requester" --passphrase-file passphrase --wait
    timeout 60 retrace task fetch "$1" -o "model-$1"
}
buy 1
echo "bought after $(($(date +%s) - began)) s"

# A site that forbids restarts gets none, and the same version again restarts nothing.
running() { systemctl show -p MainPID --value retrace-node retrace-solver retrace-verifier; }
upgrade() { dpkg --force-confold -i "$1" >"$2" 2>&1 </dev/null; }
printf '#!/bin/sh\nexit 101\n' >/usr/sbin/policy-rc.d
chmod 755 /usr/sbin/policy-rc.d
before=$(running)
upgrade retrace.deb forbidden
[ "$(grep -c 'because policy-rc.d forbids it' forbidden)" = 3 ]
rm /usr/sbin/policy-rc.d
upgrade retrace.deb again
if grep -q "systemctl restart" again; then exit 1; fi
sleep 2
[ "$(running)" = "$before" ]

# An upgrade keeps what was configured and what the services have. It restarts node and verifier, and a solver's operator
# restarts it.
program_of() { readlink "/proc/$(systemctl show -p MainPID --value "retrace-$1")/exe"; }
# SERVICE runs the installed program, and not "/usr/bin/retrace (deleted)", the one before.
is_newest() {
    for _ in $(seq 300); do
        if [ "$(systemctl show -p ActiveState --value "retrace-$1")" = active ] && [ "$(program_of "$1")" = /usr/bin/retrace ]; then return; fi
        sleep 0.2
    done
    return 1
}
upgrade older.deb downgraded
is_newest verifier
is_newest node
sha256sum /etc/retrace/*.toml >configured
solver=$(systemctl show -p MainPID --value retrace-solver)
upgrade retrace.deb upgraded
sha256sum -c configured
grep 'systemctl restart retrace-solver' upgraded
[ "$(systemctl show -p MainPID --value retrace-solver)" = "$solver" ]
systemctl --no-block restart retrace-solver
for service in solver verifier node; do
    is_newest $service
    [ "$(systemctl show -p Result --value retrace-$service)" = success ]
done
timeout 60 retrace task fetch 1 -o model-again
cmp model-1/model.safetensors model-again/model.safetensors
buy 2
echo "upgraded and bought again after $(($(date +%s) - began)) s"
for service in solver verifier node; do
    timeout 90 systemctl stop retrace-$service
    [ "$(systemctl show -p Result --value retrace-$service)" = success ]
done
[ "$(stat -c %U /var/lib/retrace/node/db)" = retrace-node ]
touch /root/done
TRY
chmod +x "$tree/root/try.sh"
cat >"$tree/etc/systemd/system/try.service" <<'UNIT'
[Unit]
After=multi-user.target
[Service]
Type=oneshot
ExecStart=/root/try.sh
ExecStopPost=/bin/sh -c 'journalctl --no-pager -b -u "retrace-*" >/root/journal; journalctl --no-pager -b -u try >/root/tried'
ExecStopPost=systemctl poweroff --no-block
UNIT
# Started by the boot, not before it: a unit that the boot waits for would wait for itself.
mkdir -p "$tree/etc/systemd/system/graphical.target.wants"
ln -sf ../try.service "$tree/etc/systemd/system/graphical.target.wants/try.service"
umount "$tree/proc" "$tree/dev"
rm -f "$tree/root/done"
timeout -k 60 600 systemd-nspawn --quiet --directory="$tree" --register=no --keep-unit --private-network --boot \
    >"$tree/boot.log" 2>&1 </dev/null || true
rm -f "$tree/usr/sbin/policy-rc.d"  # of a container that was killed
[ -f "$tree/root/done" ] || fail "in the container: $(tail -n 25 "$tree/root/tried" 2>/dev/null) \
$(tail -n 10 "$tree/root/journal" 2>/dev/null || tail -n 10 "$tree/boot.log")"
grep -oE '(upgraded and )?bought .*after [0-9]+ s' "$tree/root/tried" | sort -u
grep -o 'Overall exposure level for .*' "$tree/root/tried" || fail "nothing was said of the units' exposure"
