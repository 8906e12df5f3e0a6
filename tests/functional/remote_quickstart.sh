#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# remote_quickstart.sh RETRACE TREE: `retrace solver --node URL`, with and without --quickstart, of a machine that is not
# the node's, in network namespaces: it finds its endpoint and registers it; behind a closed port it says what to do; in a
# private network it takes its address there. Needs root.
set -euo pipefail
skip() { echo "SKIP: $*"; exit 77; }
fail() { echo "remote_quickstart.sh: $*"; tail -n 40 "$work"/*.log; exit 1; }
PATH=$PATH:/usr/sbin:/sbin

if [ "${3:-}" != inside ]; then
    [ "$(id -u)" = 0 ] || skip "not root: no network namespaces"
    command -v ip >/dev/null || skip "no ip (Debian package iproute2)"
    unshare --net --mount --pid --fork --kill-child --mount-proc true 2>/dev/null || skip "no new namespaces (unshare)"
    exec unshare --net --mount --pid --fork --kill-child --mount-proc bash "$0" "$1" "$2" inside
fi
retrace=$(readlink -f "$1") tree=$2
mount -t tmpfs none /run
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# One network between two machines: addresses of the Internet, and private ones.
ip netns add node
ip netns add solver
ip link add cable netns node type veth peer name cable netns solver
for machine in node solver; do
    ip -n $machine link set lo up
    ip -n $machine link set cable up
done
for network in 203.0.113 10.9.8; do
    ip -n node address add $network.1/24 dev cable
    ip -n solver address add $network.2/24 dev cable
done

export HOME=$work
echo a passphrase >passphrase
chmod 0600 passphrase
key=$("$retrace" wallet new --light --passphrase-file passphrase --json | grep -oE '0x[0-9a-fA-F]{40}' | head -n 1)
tr -d '\n' <"$tree/docs/examples/genesis.json" |
    sed "s/\"alloc\": {[^}]*}[^}]*}[^}]*}/\"alloc\": {\"$key\": {\"balance\": \"1000000000000000000000000\"}}/" \
        >genesis.json
ip netns exec node "$retrace" node --genesis genesis.json --data-dir chain --rpc-host 0.0.0.0 --block-ms 200 \
    >node.log 2>&1 &

# Waits until a file says something.
says() {  # FILE TEXT
    for _ in $(seq 600); do
        ! grep -qF -- "$2" "$1" 2>/dev/null || return 0
        sleep 0.1
    done
    fail "$1 never said: $2"
}
says node.log event=started
start() {  # NAME URL MORE…
    name=$1 url=$2
    shift 2
    ip netns exec solver "$retrace" solver --quickstart --node "$url" --data-dir "$name" --words-file "$name.words" \
        --passphrase-file passphrase --threads 1 "$@" >"$name.log" 2>&1 &
    agent=$!
}
fund() {  # NAME
    says "$1.log" "step 3 of 5: waiting for "
    ip netns exec node "$retrace" wallet send --to "$(cat "$1/account")" --value 100 --key "$key" \
        --passphrase-file passphrase >send.log 2>&1 || fail "no coins were sent"
    says "$1.log" "step 5 of 5"
}
start open http://203.0.113.1:8545
says open.log "others reach this machine at http://203.0.113.2:9000, its address as the node sees it"
says open.log "reachability"
fund open
grep -q "step 2 of 5: the machine was tested; it passes: .*reachability" open.log || fail "it was not found reachable"
says open.log "event=registered role=solver endpoint=http://203.0.113.2:9000"
kill "$agent"
wait "$agent" || true

# A solver that is started by hand finds it in the same way.
hand=$("$retrace" wallet new --light --passphrase-file passphrase --json | grep -oE '0x[0-9a-fA-F]{40}' | head -n 1)
ip netns exec node "$retrace" wallet send --to "$hand" --value 100 --key "$key" --passphrase-file passphrase \
    >send.log 2>&1 || fail "no coins were sent"
by_hand() {  # NAME URL MORE…
    name=$1 url=$2
    shift 2
    ip netns exec solver "$retrace" solver --node "$url" --data-dir "$name" --key "$hand" --passphrase-file passphrase \
        --threads 1 "$@" >"$name.log" 2>&1 &
    agent=$!
}
by_hand hand http://203.0.113.1:8545
says hand.log "others reach this machine at http://203.0.113.2:9000, its address as the node sees it"
says hand.log "event=registered role=solver endpoint=http://203.0.113.2:9000"
kill "$agent"
wait "$agent" || true

# It starts again at once, with the address that it has then.
start open http://203.0.113.1:8545
says open.log "the machine is not tested again"
kill "$agent"
wait "$agent" || true

# A router that passes no calls on: as with address translation, the address that the node sees leads nowhere. The rule
# for local addresses is moved behind the one that drops them.
if ip -n solver rule add pref 100 lookup local && ip -n solver rule del pref 0 &&
    ip -n solver rule add pref 10 iif cable ipproto tcp dport 9000 blackhole; then
    sleep 10  # The node begins one attempt in ten seconds for each address.
    start closed http://203.0.113.1:8545
    ! wait "$agent" || fail "a machine that nobody reaches goes on"
    says closed.log "the node did not reach it there"
    says closed.log "fail  reachability"
    grep -A12 "^fail  reachability" closed.log | tr -s ' \n' ' ' | grep -q "forward it in the router to this machine" ||
        fail "no remedy for a router"
    sleep 10
    by_hand shut http://203.0.113.1:8545
    ! wait "$agent" || fail "a solver that nobody reaches goes on"
    says shut.log "others cannot reach this machine, and who serves nothing loses stake"
    says shut.log "forward it in the router to this machine"
    ! grep -q event=registered shut.log || fail "it registered an endpoint that leads nowhere"
    [ ! -e shut/endpoint ] || fail "it keeps an endpoint that leads nowhere"
    sleep 10  # One that was reached before goes on, and says it.
    by_hand hand http://203.0.113.1:8545
    says hand.log "the node dialled 203.0.113.2:9000, and no agent's answer came back"
    says hand.log event=started
    kill "$agent"
    wait "$agent" || true
    ip -n solver rule del pref 10
else
    echo "without the closed port: the kernel has no rules of routing for it"
fi

# In a private network the node tells no address.
start private http://10.9.8.1:8545
says private.log "others reach this machine at http://10.9.8.2:9000"
fund private
says private.log "event=registered role=solver endpoint=http://10.9.8.2:9000"
kill "$agent"
wait "$agent" || true
echo "a machine beside the node's needs --node alone"
