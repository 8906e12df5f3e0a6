#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# units.sh SOURCE RETRACE: the packages' units are understood by systemd, their exposure stays below a bound, and what
# they and the configuration files name is what the program has.
set -euo pipefail

source=$1 retrace=$2
command -v systemd-analyze >/dev/null || { echo "SKIP: no systemd-analyze (Debian package systemd)"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "units.sh: $*"; exit 1; }

for unit in "$source"/node/package/systemd/*.service; do
    name=${unit##*/retrace-} name=${name%.service}
    # The program is not installed here.
    sed "s|/usr/bin/retrace |$retrace |" "$unit" >"$work/${unit##*/}"
    systemd-analyze verify --man=no "$work/${unit##*/}" >"$work/said" 2>&1 || fail "$unit: $(cat "$work/said")"
    [ ! -s "$work/said" ] || fail "$unit: $(cat "$work/said")"
    # In tenths: systemd calls 2.0 and less "OK", and services of many systems have 9.6.
    systemd-analyze security --offline=yes --threshold=20 --no-pager "$work/${unit##*/}" >"$work/said" 2>&1 ||
        fail "$unit is exposed: $(tail -n 3 "$work/said")"
    echo "$name: $(tail -n 1 "$work/said")"
    grep -qx "u retrace-$name - .* /var/lib/retrace/$name" "$source/node/package/sysusers.conf" || fail "no user $name"
    grep -qx "StateDirectory=retrace/$name" "$unit" || fail "$unit has another state directory than its user's home"
    # Each key of the configuration, also those in comments, is a flag. The node's has sections, which it checks itself.
    if [ "$name" != node ]; then
        "$retrace" "$name" --help >"$work/help"
        for key in $(sed -nE 's/^(# )?([a-z_]+) = .*/\2/p' "$source/node/package/etc/$name.toml"); do
            grep -q -- "--${key//_/-} " "$work/help" || fail "$name.toml: $key is no flag of retrace $name"
        done
    fi
done
# The node reads its file up to the genesis, which an operator has to bring.
sed "s|/var/lib/retrace/node|$work/chain|; s|/etc/retrace|$work|; s|^# host|host|; s|^# tls|tls|" \
    "$source/node/package/etc/node.toml" | sed '0,/^host = "127/{/^host = "127/d}' >"$work/node.toml"
status=0
"$retrace" node --config "$work/node.toml" >"$work/said" 2>&1 || status=$?
[ $status = 1 ] && grep -q "$work/genesis.json" "$work/said" || fail "node.toml: $(cat "$work/said")"
