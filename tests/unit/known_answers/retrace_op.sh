#!/bin/bash
# SPDX-License-Identifier: MIT
# retrace_op.sh RETRACE_OP VECTORS: `check` as its users run it. Every case is tried on every back end that `cpu` lists,
# a wrong one is found by each, and RETRACE_CPU chooses or is refused.
set -euo pipefail

op=$1 vectors=$2/numerics
out=$(mktemp)
trap 'rm -f "$out"' EXIT
unset RETRACE_CPU

fail() {
    echo "FAILED: $1"
    cat "$out"
    exit 1
}
# check STATUS ARGUMENT...: leaves what it printed in $out.
check() {
    local wanted=$1 status=0
    shift
    "$op" check "$@" >"$out" 2>&1 || status=$?
    [ "$status" = "$wanted" ] || fail "check $*: status $status, not $wanted"
}
last_line_is() {
    [ "$(tail -n 1 "$out")" = "$1" ] || fail "the last line is not \"$1\""
}

"$op" cpu >"$out"
mapfile -t levels < <(sed -n '/^cuda: /d; s/ .*//; p' "$out")
device=0
if ! grep -Eq '^cuda: no' "$out"; then device=1; fi
cases=$(grep -c '^{"name"' "$vectors/cases.json")
programs=$((cases - $(grep -c '"op":"philox_blocks"' "$vectors/cases.json")))
# The reference once, the element rules once, each level on one thread and on three.
passes() { echo $((cases + programs * (1 + 2 * $1 + device))); }

check 0 "$vectors/cases.json"
last_line_is "$(passes "${#levels[@]}") passed, 0 failed"

check 1 "$vectors/faults/cases.json"
grep -q '^0 passed, ' "$out" || fail "a fault passed"
for case in "mul_flush:element 37" "row_sum:element 1" "col_sum:element 2"; do
    for backend in reference 'element rules' "${levels[@]/%/, 1 thread}" "${levels[@]/%/, 3 threads}"; do
        grep -Fq "FAILED $vectors/faults/cases.json: ${case%:*}_other_element ($backend): ${case#*:} is " "$out" ||
            fail "${case%:*} on $backend"
    done
done

grep -Fq 'line_end?9 passed, 0 failed: unknown op "no_such?op"' "$out" || fail "a name with a line end"

check 0 "$vectors/other_writer.json"
check 1 "$vectors/cases.json" "$vectors/no_such_file.json"
last_line_is "$(passes "${#levels[@]}") passed, 1 failed"

RETRACE_CPU=scalar check 0 "$vectors/cases.json"
last_line_is "$(passes 1) passed, 0 failed"
RETRACE_CPU=foo check 2 "$vectors/cases.json"
last_line_is "RETRACE_CPU=foo: not an instruction set of this machine; it has ${levels[*]}"
