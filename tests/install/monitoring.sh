#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# monitoring.sh SOURCE RETRACE: real Prometheus tools take the alerts, and their tests pass. A node, a solver and a
# verifier run, and export each metric that the dashboard and the alerts name, but those of work that fails and waits
# (node.MonitoringDashboard has these).
set -euo pipefail

source=$1/node/package/monitoring retrace=$2
work=$(mktemp -d)
agents=() node=
leave() {
    # The agents before their node. The second signal ends a solver that waits for a node's answer.
    for process in "${agents[@]}"; do kill "$process" 2>/dev/null && kill "$process" 2>/dev/null || true; done
    wait "${agents[@]}" 2>/dev/null || true
    if [ -n "$node" ]; then kill "$node" && wait "$node" || true; fi
    rm -rf "$work"
}
trap leave EXIT
fail() { echo "monitoring.sh: $*"; exit 1; }

"$retrace" node --dev --data-dir "$work/node" --rpc-port 0 --block-ms 200 --json >"$work/node.json" 2>"$work/node.log" &
node=$!
for _ in $(seq 300); do
    if [ -s "$work/node.json" ]; then break; fi
    sleep 0.1
done
port=$(sed -n 's/.*"rpc":"http:[^:]*:\([0-9]*\)".*/\1/p' "$work/node.json")
[ -n "$port" ] || fail "the node does not start: $(cat "$work/node.log")"
for role in solver verifier; do
    account=$([ $role = solver ] && echo 1 || echo 2)
    "$retrace" $role --node "http://127.0.0.1:$port" --dev-account "$account" --data-dir "$work/$role" --stake 100 \
        --port 0 >"$work/$role.log" 2>&1 &
    agents+=($!)
done
for _ in $(seq 600); do
    if [ -s "$work/solver/metrics.prom" ] && [ -s "$work/verifier/metrics.prom" ]; then break; fi
    sleep 0.1
done
exec 3<>"/dev/tcp/127.0.0.1/$port"
printf 'GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n' >&3
cat <&3 >"$work/node.prom"
for role in solver verifier; do
    [ -s "$work/$role/metrics.prom" ] || fail "the $role writes no metrics: $(tail -n 5 "$work/$role.log")"
done
names() { grep -ohE 'retrace_[a-z_]+' "$@" | sort -u; }
names "$work/node.prom" "$work/solver/metrics.prom" >"$work/exported"
names "$work/node.prom" "$work/verifier/metrics.prom" | cmp - "$work/exported" || fail "solver and verifier differ"
unknown=$(names "$source/dashboard.json" "$source/alerts.yml" | grep -vxF -f "$work/exported" |
    grep -vE '^retrace_(status|agent_waiting_.*)$' || true)
[ -z "$unknown" ] || fail "no such metrics: $unknown"
echo "$(wc -l <"$work/exported") metrics are exported"

command -v promtool >/dev/null || { echo "SKIP: no promtool (Debian package prometheus)"; exit 77; }
cd "$source"
promtool check rules alerts.yml || fail "promtool check rules"
promtool test rules alerts_test.yml || fail "promtool test rules"
for rule in $(sed -n 's/^ *- alert: //p' alerts.yml); do
    grep -q "name: $rule\$" alerts_test.yml || fail "no test makes $rule fire"
done
