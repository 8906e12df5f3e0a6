#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# postinst.sh SOURCE RETRACE: which services the package's postinst restarts, with stand-ins for systemd and dpkg.
set -euo pipefail

source=$1 retrace=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "postinst.sh: $*"; cat "$work/said" "$work/calls"; exit 1; }
mkdir -p "$work/run" "$work/bin" "$work/etc"
sed "s|/run/systemd/system|$work/run|; s|/usr/sbin/policy-rc.d|$work/policy|g; s|/usr/bin/retrace|$retrace|
    s|/etc/retrace|$work/etc|" "$source/node/package/debian/postinst" >"$work/postinst"
cp "$source"/node/package/etc/*.toml "$work/etc"
stand_in() { { echo '#!/bin/sh'; cat; } >"$work/bin/$1"; chmod +x "$work/bin/$1"; }
for name in install systemd-sysusers; do stand_in $name <<<'exit 0'; done
stand_in dpkg-query <<<'printf 2.0'
# All services run, and this systemd cannot reload.
stand_in systemctl <<END_OF
echo "\$*" >>"$work/calls"
[ "\$1" != daemon-reload ]
END_OF

# configure VERSION_BEFORE: what `systemctl restart` was asked for is in `calls`.
configure() {
    : >"$work/calls"
    PATH=$work/bin:$PATH sh "$work/postinst" configure "$1" >"$work/said" 2>&1 || fail "it fails"
}
restarts() { grep -q -- "try-restart retrace-$1.service" "$work/calls"; }
# policy STATUS: of policy-rc.d.
policy() { printf '#!/bin/sh\necho "$*" >>"%s"\nexit %s\n' "$work/asked" "$1" >"$work/policy"; chmod +x "$work/policy"; }

configure 1.0
restarts node || fail "an upgrade leaves the node as it was"
grep -qx -- "--no-block --job-mode=ignore-dependencies try-restart retrace-verifier.service" "$work/calls" ||
    fail "the verifier waits for the node, which waits for a solver"
if restarts solver; then fail "an upgrade takes a solver from its work"; fi
grep -q "systemctl restart retrace-solver" "$work/said" || fail "nobody says that the solver is the one before"

for before in "" 2.0; do
    configure "$before"
    if restarts node || restarts verifier || restarts solver; then fail "restarts without another version: '$before'"; fi
    if grep -q "goes on as" "$work/said"; then fail "the services are up to date"; fi
done

for status in 1 100 101 102 103 105 127; do
    policy $status
    configure 1.0
    if restarts node || restarts verifier; then fail "policy-rc.d said $status"; fi
    [ "$(grep -c "because policy-rc.d forbids it" "$work/said")" = 3 ] || fail "not all are named"
done
for status in 0 104; do
    policy $status
    configure 1.0
    restarts node && restarts verifier || fail "policy-rc.d said $status"
done
grep -qx "retrace-node.service restart" "$work/asked" || fail "policy-rc.d is asked about another name"
rm "$work/policy"

echo 'a_flag_of_the_version_before = 1' >>"$work/etc/verifier.toml"
configure 1.0
if restarts verifier; then fail "the verifier is restarted with a configuration that it refuses"; fi
grep -q "as retrace-verifier, because the new version refuses its configuration" "$work/said" || fail "nobody says why"
grep -q "a-flag-of-the-version-before\|a_flag_of_the_version_before" "$work/said" || fail "nobody names the flag"
restarts node || fail "the node's configuration is in order"
sed -i 's/^port = .*/port = "8545"/' "$work/etc/node.toml"
configure 1.0
if restarts node; then fail "the node is restarted with a configuration that it refuses"; fi
echo "restarts what it may"
