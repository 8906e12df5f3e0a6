#!/bin/sh
# SPDX-License-Identifier: MIT
# on_level.sh LEVEL OTHERWISE PROGRAM ARGUMENT…: the program held to one instruction set (RETRACE_CPU). Status 77 where
# the machine lacks it, with a line that names what would run the test: OTHERWISE as well, where it is not empty.
level=$1 otherwise=$2
shift 2
RETRACE_CPU=$level "$@"
status=$?
[ $status = 2 ] || exit $status  # kernels/runtime/dispatch ends a process so; GoogleTest does not.
name=$(echo "$level" | tr '[:lower:]' '[:upper:]')
echo "SKIP: no $name; a processor with it runs this${otherwise:+, or $otherwise}"
exit 77
