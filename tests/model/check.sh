#!/bin/sh
# SPDX-License-Identifier: MIT
# Explores every state of a Promela model. usage: check.sh MODEL good|broken [-DNAME ...]
# good: neither an assertion fails nor does a run without end exist; broken: one of both is found.
set -eu
model=$1 expected=$2
shift 2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
spin "$@" -a "$model" > generate.log
cc -O2 -w -DCOLLAPSE -DVECTORSZ=2048 -DNOFAIR -o pan pan.c
cc -O2 -w -DSAFETY -DNOCLAIM -DCOLLAPSE -DVECTORSZ=2048 -o pan_safety pan.c
errors=0
# Assertions and deadlocks, then the property "it ends".
for run in "./pan_safety -m1000000" "./pan -m1000000 -a -N ends"; do
    $run > run.log 2>&1 || { cat run.log; exit 1; }
    grep -q "max search depth too small\|out of memory" run.log && { cat run.log; exit 1; }
    found=$(sed -n 's/.*errors: \([0-9]*\).*/\1/p' run.log)
    states=$(sed -n 's/ *\([0-9.e+]*\) states, stored.*/\1/p' run.log)
    echo "$(basename "$model") $*: $run: $states states, $found errors"
    [ "$expected" = good ] && [ "$found" != 0 ] && cat run.log
    errors=$((errors + found))
done
if [ "$expected" = good ]; then [ "$errors" = 0 ]; else [ "$errors" != 0 ]; fi
