#!/bin/sh
# SPDX-License-Identifier: MIT
# format.sh [--fix]: compares the C++ and CUDA sources that git knows with what .clang-format makes of them; with --fix
# it formats them. Versions of clang-format differ, so only version 14 counts; without it the test skips itself.
set -eu
cd "$(dirname "$0")/../.."
if ! command -v clang-format-14 >/dev/null; then
    echo 'SKIP: clang-format-14 is not installed (Debian package clang-format-14)'
    exit 77
fi
if ! git rev-parse --is-inside-work-tree >/dev/null 2>&1; then
    echo 'SKIP: no git repository lists the sources'
    exit 77
fi
mode=--dry-run
if [ "${1:-}" = --fix ]; then mode=-i; fi
git ls-files -z --cached --others --exclude-standard '*.cpp' '*.hpp' '*.cu' '*.cuh' |
    xargs -0 -n 40 clang-format-14 $mode --Werror || {
    echo 'tests/lint/format.sh --fix mends these files'
    exit 1
}
