#!/bin/bash
# SPDX-License-Identifier: MIT
# Runs the programs of docs/sdk.md, all at once, on a developer chain with a solver and two verifiers.
# Usage: sdk.sh PATH_OF_RETRACE PATH_OF_DOCS_SDK
set -euo pipefail
program=$(readlink -f "$1")
page=$(readlink -f "$2")
clients=$(dirname "$(readlink -f "$0")")/clients
skip() { echo "SKIP: $*"; exit 77; }
for tool in node npm python3; do
    command -v "$tool" >/dev/null 2>&1 || skip "$tool is not installed (apt-get install nodejs npm python3-venv)"
done
work=$(mktemp -d)
pids=()
trap 'kill "${pids[@]}" 2>/dev/null || true; rm -rf "$work"' EXIT
cp "$clients"/package*.json "$work/"
(cd "$work" && npm ci --silent --no-audit --no-fund >npm.log 2>&1) || skip "the npm packages of package-lock.json are not to be had here"
python3 -m venv "$work/venv" && "$work/venv/bin/pip" install -q web3==8.0.0 >"$work/pip.log" 2>&1 || python=missing
# A block of code is named in its first line.
awk -v out="$work" '/^```(js|python) / { file = out "/" $2; next } /^```/ { file = "" } file { print > file }' "$page"
mkdir "$work/bin"
ln -s "$program" "$work/bin/retrace"
export PATH="$work/bin:$PATH"

retrace node --dev --data-dir "$work/chain" --rpc-port 0 --block-ms 100 --json >"$work/node.json" 2>"$work/node.log" &
pids+=($!)
for _ in $(seq 100); do [ -s "$work/node.json" ] && break; sleep 0.1; done
export RETRACE_NODE
RETRACE_NODE=$(sed -n 's/.*"rpc":"\([^"]*\)".*/\1/p' "$work/node.json")
retrace solver --dev-account 1 --data-dir "$work/solver" --price 0.5 --stake 400 >"$work/solver.log" 2>&1 &
pids+=($!)
for account in 4 5; do
    retrace verifier --dev-account "$account" --data-dir "$work/verifier-$account" >"$work/verifier-$account.log" 2>&1 &
    pids+=($!)
done
for _ in $(seq 300); do
    [ "$(cat "$work"/verifier-*.log "$work/solver.log" | grep -c event=registered)" = 3 ] && break
    sleep 0.1
done
export TASK=$work/task
# Few bytes, so that a busy machine too fetches them within accept_blocks, six seconds here.
awk 'BEGIN { print "x,y,label"; for (i = 0; i < 512; i++) { x = i * 37 % 101; y = i * 53 % 97; print x "," y "," (x + y > 99) } }' >"$work/points.csv"
retrace task compile mlp --data "$work/points.csv" --hidden 16 --batch 32 --steps 20 --checkpoint-every 10 -o "$TASK" >/dev/null
sed -i 's/replay_blocks = 300/replay_blocks = 60/' "$TASK/task.toml"

# Keys of developer accounts 0, 6 and 7, as the node prints them.
buy() {  # NAME KEY COMMAND...
    local name=$1 key=$2
    shift 2
    mkdir "$work/home-$name"
    (cd "$work" && HOME=$work/home-$name PRIVATE_KEY=$key OUT=$work/model-$name timeout 200 "$@") >"$work/$name.out" 2>&1
}
declare -A run
buy ethers 0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80 node ethers.mjs & run[ethers]=$!
buy viem 0x92db14e403b83dfe3df233f83dfa3a0d7096f21ca9b0d6d6b8d88b2b4ec1564e node viem.mjs & run[viem]=$!
if [ "${python:-}" = missing ]; then
    echo "not run: web3.py, which pip cannot install here"
else
    mv "$work/web3.py" "$work/buy_with_web3.py"  # not the name of the module
    buy web3 0x4bbbf85ce3377467afe5d46f804f221813b2bb87f24d81f60f1fcdbf7cbf4356 "$work/venv/bin/python" buy_with_web3.py &
    run[web3]=$!
fi
failed=0
for name in "${!run[@]}"; do
    wait "${run[$name]}" || { failed=1; echo "$name failed"; }
    echo "--- $name"; cat "$work/$name.out"
    grep -q "3 states are on the ledger as the receipt says" "$work/$name.out" || failed=1
    grep -q "is accepted" "$work/$name.out" || failed=1
    [ -s "$work/model-$name/model.safetensors" ] || failed=1
done
for file in ethers.mjs viem.mjs buy_with_web3.py; do
    [ ! -f "$work/$file" ] || [ "$(wc -l <"$work/$file")" -le 60 ] || { failed=1; echo "$file has over 60 lines"; }
done
exit "$failed"
