#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# package.sh SUITE [FOLDER]: installs the packages that ./dev package left in FOLDER (RETRACE_PACKAGES, else
# build/package) on a bare Debian, over an older version that was configured and has data, and tries what they bring:
# the programs, users, configuration, completion, manual pages, the console; then removes and purges them. Needs root,
# debootstrap and the network. TREES=FOLDER keeps the tree.
set -euo pipefail
# shellcheck source=tests/install/debian_tree.sh
source "$(dirname "${BASH_SOURCE[0]}")/debian_tree.sh"

suite=${1:?bookworm or trixie}
packages=${2:-${RETRACE_PACKAGES:-$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)/build/package}}
fail() { echo "package.sh: $*"; exit 1; }
declare -A number=([bookworm]=12 [trixie]=13)
package=$(echo "$packages"/retrace_*~deb"${number[$suite]}"_*.deb)
[ -f "$package" ] || skip "no $package; ./dev package makes it"

# Runs a command whose processes have numbers of their own and end with it: what it kills is nobody else's.
confined() { in_tree unshare --pid --fork --kill-child "$@"; }

open_tree "$suite"
without_retrace
rm -rf "$tree"/root/* "$tree/root/.retrace"  # of a kept tree
cp "$packages"/retrace*~deb"${number[$suite]}"_*.deb "$tree/root/"
name=$(basename "$package") version=$(basename "$package" | cut -d _ -f 2)
apt() { in_tree DEBIAN_FRONTEND=noninteractive timeout 900 apt-get -q "$@"; }
apt -o APT::Update::Error-Mode=any update || skip "Debian's package lists cannot be fetched"
make_older "$package"
apt install -y /root/older.deb >"$tree/install.log" 2>&1 || fail "it does not install: $(tail -n 20 "$tree/install.log")"
echo "# the administrator's line" >>"$tree/etc/retrace/node.toml"
in_tree runuser -u retrace-node -- sh -c 'echo data >/var/lib/retrace/node/kept'
apt install -y "/root/$name" >"$tree/install.log" 2>&1 || fail "no upgrade: $(tail -n 20 "$tree/install.log")"
[ "$(in_tree dpkg-query -W -f '${Version}' retrace)" = "$version" ] || fail "the upgrade left another version"
grep -q "administrator's line" "$tree/etc/retrace/node.toml" || fail "the upgrade overwrites a configuration that was changed"
if grep -q 'version before' "$tree/etc/retrace/solver.toml"; then fail "the upgrade keeps a configuration that nobody changed"; fi
[ "$(in_tree stat -c %U /var/lib/retrace/node/kept)" = retrace-node ] || fail "the upgrade touches data"
if in_tree dpkg -l 'libtorch*' 2>/dev/null | grep '^ii' >/dev/null; then fail "the main package brings LibTorch"; fi
apt install -s "/root/retrace-torch${name#retrace}" | grep '^Inst libtorch' >/dev/null || fail "retrace-torch needs no LibTorch"

[ "$(in_tree retrace --version)" = "retrace ${version%~*}" ] || fail "another version than ${version%~*}"
in_tree retrace solver --help | grep -- --min-price >/dev/null || fail "retrace solver --help"
in_tree retrace doctor --node http://127.0.0.1:1 >"$tree/doctor.log" 2>&1 || true
for check in cpu disk memory node; do grep -qi "$check" "$tree/doctor.log" || fail "retrace doctor has no check of $check"; done
for service in node solver verifier; do
    [ "$(in_tree stat -c '%U %a' "/var/lib/retrace/$service")" = "retrace-$service 700" ] || fail "the folder of $service"
    in_tree test -f "/usr/lib/systemd/system/retrace-$service.service" || fail "no unit of $service"
done
for command in $(in_tree retrace --help | awk '/^Subcommands:/ { on = 1; next } /^[^ ]/ { on = 0 } on && /^  [^ ]/ { print $1 }'); do
    in_tree gzip -t "/usr/share/man/man1/retrace-$command.1.gz" || fail "no manual page of retrace $command"
done
[ -n "${command:-}" ] || fail "retrace --help lists no commands"
for script in zsh/vendor-completions/_retrace fish/vendor_completions.d/retrace.fish; do
    [ -s "$tree/usr/share/$script" ] || fail "no $script"
done
in_tree bash -c 'source /usr/share/bash-completion/completions/retrace
    COMP_WORDS=(retrace "") COMP_CWORD=1; _retrace; printf "%s\n" "${COMPREPLY[@]}"' | grep -x solver >/dev/null || fail "completion"
bill=$tree/usr/share/doc/retrace/retrace.spdx.json
grep -q '"SPDX-2.3"' "$bill" || fail "no bill of materials"
for library in $(in_tree dpkg-query -W -f '${Depends}' retrace | tr ',' '\n' | awk '$1 ~ /^(lib|zlib)/ { print $1 }'); do
    # A virtual package, such as libspdlog's, is not listed under this name.
    [ -n "$(in_tree dpkg-query -W -f '${Version}' "$library" 2>/dev/null || true)" ] || continue
    # The bill has the version that was linked, and Debian may have a newer one since.
    grep -F "\"name\": \"$library\"," "$bill" >/dev/null || fail "the bill of materials does not have $library"
    listed=$((${listed:-0} + 1))
done
[ "${listed:-0}" -ge 10 ] || fail "the package depends on ${listed:-0} libraries"
differing=$(in_tree dpkg --verify retrace | grep -v ' /etc/retrace/node.toml$' || true)
[ -z "$differing" ] || fail "files differ from the package: $differing"

# The node runs as its user with the installed configuration, up to the genesis that an operator has to bring.
status=0
confined timeout 60 runuser -u retrace-node -- retrace node --config /etc/retrace/node.toml >"$tree/node.log" 2>&1 || status=$?
[ $status = 1 ] && grep -q /etc/retrace/genesis.json "$tree/node.log" || fail "node.toml: $(cat "$tree/node.log")"
# With one it serves the console that is in the program.
cp "$tree/usr/share/doc/retrace/docs/examples/genesis.json" "$tree/etc/retrace/genesis.json"
sed -i 's/^port = .*/port = 18545/' "$tree/etc/retrace/node.toml"
confined timeout 120 bash -c '
    setpriv --reuid retrace-node --regid retrace-node --clear-groups \
        retrace node --config /etc/retrace/node.toml >/root/node.out 2>&1 &
    node=$!
    for _ in $(seq 300); do
        if grep -q "console at" /root/node.out; then break; fi
        sleep 0.1
    done
    exec 3<>/dev/tcp/127.0.0.1/18545
    printf "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n" >&3
    cat <&3 >/root/page
    kill $node && wait $node' || fail "the node: $(cat "$tree/root/node.out")"
grep -q '<html' "$tree/root/page" || fail "no console: $(head -n 20 "$tree/root/page")"

# From the installed package to the first bid, on a developer chain, which has somebody who sends a newcomer coins.
confined timeout 240 bash -c 'set -e
    cd /root
    echo a passphrase >passphrase
    chmod 600 passphrase
    retrace node --dev --data-dir chain --rpc-port 18546 >node.out 2>&1 &
    for _ in $(seq 300); do
        if grep -q "console at" node.out; then break; fi
        sleep 0.1
    done
    export RETRACE_NODE=http://127.0.0.1:18546
    for account in 4 5; do
        retrace verifier --dev-account $account --data-dir verifier-$account --stake 50 --port 0 >verifier-$account.out 2>&1 &
    done
    awk "BEGIN { for (i = 0; i < 400; ++i) print i % 7 \",\" i % 5 \",\" i % 2 }" >table.csv
    retrace task compile mlp --data table.csv --steps 40 --checkpoint-every 20 --batch 16 --hidden 8 -o task
    # Refused while the verifiers are not drawn yet. Posted again and again, because bids are taken for ten blocks only.
    until retrace task submit task --dev-account 0; do sleep 1; done
    while true; do
        sleep 5
        retrace task submit task --dev-account 0 || true
    done >posts.out 2>&1 &
    began=$(date +%s%N)
    retrace solver --quickstart --words-file words --passphrase-file passphrase --port 0 >solver.out 2>&1 &
    until grep -q "event=bid " solver.out; do sleep 0.1; done
    echo $((($(date +%s%N) - began) / 1000000)) >first-bid
    # A solver whose node is gone would wait for it.
    kill -9 $(jobs -p) && wait || true' >"$tree/quickstart.log" 2>&1 || fail "quickstart: $(tail -n 20 "$tree/quickstart.log" "$tree/root/solver.out")"
first_bid=$(cat "$tree/root/first-bid")
[ "$first_bid" -le 60000 ] || fail "the first bid came after $first_bid ms"
echo "first bid after $first_bid ms"

apt remove -y retrace >"$tree/remove.log" 2>&1 || fail "remove: $(tail -n 20 "$tree/remove.log")"
in_tree test -f /etc/retrace/node.toml || fail "removal deletes the configuration"
apt purge -y retrace >"$tree/purge.log" 2>&1 || fail "purge: $(tail -n 20 "$tree/purge.log")"
if in_tree test -e /etc/retrace/node.toml; then fail "purging keeps the configuration"; fi
in_tree test -d /var/lib/retrace/node/db || fail "purging deletes the chain"
grep -q 'is kept' "$tree/purge.log" || fail "purging does not say what it keeps"
echo "installed, tried and purged ${package##*/}"
