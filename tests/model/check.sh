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
mutation=$*

# Explores with a program that is compiled with FLAGS, and exits when it decides the test.
explore() {  # NAME FLAGS [ARGUMENT ...]
    name=$1 flags=$2
    shift 2
    # shellcheck disable=SC2086  # several flags. Compiling at -O2 takes longer than it saves.
    cc -O1 -w -DCOLLAPSE -DVECTORSZ=2048 $flags -o "$name" pan.c
    "./$name" -m1000000 "$@" > run.log 2>&1 || { cat run.log; exit 1; }
    if grep -q "max search depth too small\|out of memory" run.log; then cat run.log; exit 1; fi
    errors=$(sed -n 's/.*errors: \([0-9]*\).*/\1/p' run.log)
    states=$(sed -n 's/ *\([0-9.e+]*\) states, stored.*/\1/p' run.log)
    echo "$(basename "$model") $mutation: $name: $states states, $errors errors"
    [ "$errors" = 0 ] && return
    [ "$expected" = broken ] && exit 0
    cat run.log
    exit 1
}
explore safety "-DSAFETY -DNOCLAIM"  # assertions and deadlocks
explore end -DNOFAIR -a -N ends      # the property "it ends"
[ "$expected" = good ]
