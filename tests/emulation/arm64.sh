#!/bin/bash
# SPDX-License-Identifier: MIT
# Builds merkle, the kernels and their tests for 64-bit ARM (preset `arm64`) and runs them on the processors that
# qemu-aarch64 emulates: parity of every instruction set with the reference, known answers, published trainings. Further
# arguments go to CTest. Status 77 where the tools are missing.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
build=$root/build/arm64

for tool in cmake ninja ctest aarch64-linux-gnu-g++ qemu-aarch64; do
    if ! command -v $tool >/dev/null; then
        echo "SKIP: no $tool (Debian packages g++-aarch64-linux-gnu, qemu-user)"
        exit 77
    fi
done
"$root/tests/emulation/arm64_libraries.sh" "$root/build/arm64-libraries"
(cd "$root" && cmake --preset arm64 && cmake --build "$build" -j "$(nproc)" \
    --target unit_merkle unit_kernels unit_known_answers retrace-op) >&2

# The instruction sets that a process finds on three processors.
levels_of() { qemu-aarch64 -cpu "$1" "$build/bin/retrace-op" cpu | sed '/^cuda: /d; s/ .*//' | tr '\n' ' '; }
expect() {
    local found
    found=$(levels_of "$1")
    if [ "$found" != "$2 " ]; then
        echo "FAILED: on $1 a process finds $found, not $2"
        exit 1
    fi
}
expect cortex-a72 "scalar neon"
expect neoverse-n1 "scalar neon dotprod"
expect max "scalar neon dotprod i8mm"

# qemu limits no memory of its guest (RLIMIT_AS).
unlimited=kernels.NumericsThreadPoolDeathTest.WorksWithTheThreadsThatTheSystemGives
echo "skipped: $unlimited: an emulated processor's memory has no limit"
ctest --test-dir "$build" --output-on-failure -j "$(nproc)" -R '^(merkle|kernels|known_answers|vectors)\.' -LE slow \
    -E "$unlimited" "$@"
