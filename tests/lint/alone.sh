#!/bin/bash
# SPDX-License-Identifier: MIT
# Checks that each source file includes what it uses: most presets compile eight files as one, where a file may
# use what another one included. Compiles each file alone, without making code.
# Usage: alone.sh SOURCE_DIR; and, as the launcher of the compiler: alone.sh COMPILER ARGUMENT...
set -euo pipefail

if [ $# -gt 1 ]; then
    output=
    compiles=false
    for ((i = 1; i < $#; i++)); do
        next=$((i + 1))
        if [ "${!i}" = -o ]; then output=${!next}; fi
        if [ "${!i}" = -c ]; then compiles=true; fi
    done
    if $compiles; then "$@" -fsyntax-only -w; fi
    mkdir -p "$(dirname "$output")"
    : >"$output"
    exit
fi

source_dir=$1
build=$(mktemp -d)
trap 'rm -rf "$build"' EXIT
cmake -S "$source_dir" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_UNITY_BUILD=OFF \
    -DCMAKE_CXX_COMPILER_LAUNCHER="$source_dir/tests/lint/alone.sh" \
    -DCMAKE_CXX_LINKER_LAUNCHER="$source_dir/tests/lint/alone.sh" -DCMAKE_AR="$(command -v true)" \
    -DCMAKE_RANLIB="$(command -v true)" >/dev/null
# Some objects wait for a program or a library, which stay empty.
ninja -C "$build" -t targets all | sed -n 's/^\(.*\.\(o\|pb\.h\)\): .*/\1/p' >"$build/files"
xargs -a "$build/files" ninja -C "$build" -k 0
