#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# installed.sh BUILD SOURCE: installs the build into an empty prefix. Programs, interfaces and documents are there, with
# all that the documents link to, the installed node runs, and it serves the interfaces that were installed.
set -euo pipefail

build=$1 source=$2
work=$(mktemp -d)
node=
leave() {
    if [ -n "$node" ]; then kill "$node" && wait "$node" || true; fi
    rm -rf "$work"
}
trap leave EXIT
fail() { echo "installed.sh: $*"; exit 1; }

log=$work/install.log
cmake --install "$build" --prefix "$work/usr" >"$log" 2>&1 || { cat "$log"; fail "cmake --install fails"; }
cd "$work/usr"
for program in retrace retrace-verify-proof retrace-op; do
    [ -x "bin/$program" ] || fail "no program $program"
    "bin/$program" --help 2>"$work/errors" | grep -qi usage && [ ! -s "$work/errors" ] || fail "$program has no --help"
done
bin/retrace-op check --help >/dev/null 2>&1 || fail "retrace-op check has no --help"
for name in README.md LICENSE docs/threat-model.md; do
    cmp "$source/$name" "share/doc/retrace/$name"
done
grep -roE --include='*.md' '\]\([^)#]+' share/doc/retrace >"$work/links"
while IFS= read -r link; do
    page=${link%%:*} target=${link#*](}
    [[ $target == *://* || -e ${page%/*}/$target ]] || fail "$page links to $target, which was not installed"
done <"$work/links"
for contract in IStaking IMarket IAudits IDisputes IValidators IGroups; do
    for kind in sol json; do cmp "$source/contracts/abi/$contract.$kind" "share/retrace/abi/$contract.$kind"; done
done
[ "$(find share/retrace/abi -type f | wc -l)" = 12 ] || fail "more than interfaces was installed"
bin/retrace version | grep -q '^retrace ' || fail "the installed program does not run"

bin/retrace node --dev --data-dir "$work/data" --rpc-port 0 --json >"$work/node.json" 2>"$work/node.log" &
node=$!
for _ in $(seq 200); do
    [ -s "$work/node.json" ] && break
    sleep 0.1
done
port=$(sed -n 's/.*"rpc":"http:[^:]*:\([0-9]*\)".*/\1/p' "$work/node.json")
[ -n "$port" ] || { cat "$work/node.log"; fail "the installed node does not start"; }
question='{"jsonrpc":"2.0","id":1,"method":"retrace_contracts"}'
head='POST / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n'
exec 3<>"/dev/tcp/127.0.0.1/$port"
printf "${head}Content-Length: %d\r\n\r\n%s" ${#question} "$question" >&3
answer=$(cat <&3)
for contract in IStaking IMarket IAudits IDisputes IValidators; do
    abi=$(tr -d ' \n' <"share/retrace/abi/$contract.json")
    [[ $answer == *"\"name\":\"$contract\""*"\"abi\":$abi"* ]] || fail "retrace_contracts serves another $contract"
done
echo "installed and running"
