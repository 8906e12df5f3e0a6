#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# kernels_nvcc12.sh: in a bare Debian 13 tree with a compiler, CMake, Ninja, OpenSSL and Debian's own nvcc 12, and
# nothing else, `cmake --preset kernels` configures and builds, without a word of nvcc's; the machine code and the PTX
# pass their checks, and the programs start. Needs root, debootstrap, the network and 10 GiB.
# TREES=FOLDER keeps the tree.
set -euo pipefail
# shellcheck source=tests/install/debian_tree.sh
source "$(dirname "${BASH_SOURCE[0]}")/debian_tree.sh"

fail() { echo "kernels_nvcc12.sh: $*"; exit 1; }
packages=(g++ cmake ninja-build libssl-dev nvidia-cuda-toolkit)

open_tree trixie
if [ ! -x "$tree/usr/bin/nvcc" ]; then
    room=$(($(df --output=avail -k "$tree" | tail -n 1) / 1048576))
    [ "$room" -ge 10 ] || skip "$room GiB free where the tree is, 10 are needed"
fi

# nvcc is in non-free and what it depends on partly in contrib. Every step is bounded, so that the mounts are undone by
# us and not left by a test that CTest had to kill. What cannot be fetched is skipped; what then does not install fails.
sed -i 's/^\(deb .* trixie\) .*/\1 main contrib non-free/' "$tree/etc/apt/sources.list"
apt() {
    local seconds=$1
    shift
    in_tree DEBIAN_FRONTEND=noninteractive timeout "$seconds" apt-get -qq "$@"
}
apt 600 -o APT::Update::Error-Mode=any update || skip "Debian's package lists cannot be fetched"
in_tree apt-cache show nvidia-cuda-toolkit >/dev/null || skip "Debian has no nvidia-cuda-toolkit for this machine"
apt 3600 install -y --no-install-recommends --download-only "${packages[@]}" || skip "${packages[*]} cannot be fetched"
apt 1800 install -y --no-install-recommends "${packages[@]}" >"$tree/install.log" 2>&1 ||
    fail "the packages do not install: $(tail -n 20 "$tree/install.log")"
apt 60 clean
version=$(in_tree nvcc --version | sed -n 's/.*release \([0-9.]*\),.*/\1/p')
[[ $version == 12.* ]] || fail "this is for nvcc 12, and Debian's is $version"

# CXX, CUDACXX and the like are not set: what CMake finds by itself has to do.
in_tree timeout 5400 sh -c 'cd /src && cmake --preset kernels && nice -n 19 cmake --build build/kernels -j "$(nproc)"' \
    2>&1 | tee "$tree/build.log"
# nvcc has nothing to say, be it a warning or ptxas' remark that it makes products of warpgroups wait for each other.
said=$(awk '/^\[[0-9]+\/[0-9]+\] / { of_nvcc = /Building CUDA object/; next } of_nvcc' "$tree/build.log")
[ -z "$said" ] || fail "nvcc $version says: $said"
grep -q 'Building CUDA object' "$tree/build.log" || fail "nothing was built by nvcc"

# Machine code and PTX as the CMake file asks for them, and Hopper's own products, which only one pass of nvcc makes.
objects=/src/build/kernels/kernels/cuda
for object in "$tree$objects"/*.cu.o; do
    name=${object##*/}
    made=$(in_tree cuobjdump --list-elf --list-ptx "$objects/$name" |
        grep -oE 'sm_[0-9]+a?\.(cubin|ptx)' | sort | xargs) || true
    [ "$made" = 'sm_75.cubin sm_80.cubin sm_80.ptx sm_90a.cubin' ] || fail "$name holds ${made:-no code}"
done
in_tree cuobjdump -sass -arch sm_90a "$objects/product_hopper.cu.o" >"$tree/hopper.sass"
grep -q IGMMA "$tree/hopper.sass" || fail "no wgmma"
in_tree timeout 1800 ctest --test-dir /src/build/kernels --no-tests=error --output-on-failure -j "$(nproc)" \
    -R '^cuda\.nvcc\.'
bin=/src/build/kernels/bin
for program in cuda_parity cuda_bench retrace-op; do
    in_tree test -x $bin/$program || fail "$program was not built"
done
in_tree timeout 600 $bin/retrace-op check /src/tests/vectors/numerics/cases.json | tee "$tree/answers.log"
grep -q '^[1-9][0-9]* passed, 0 failed' "$tree/answers.log" || fail "retrace-op's known answers"
in_tree timeout 1800 $bin/cuda_parity | tee "$tree/parity.log"
grep -qE '^SKIP: no CUDA device|[1-9][0-9]* passed, 0 failed' "$tree/parity.log" || fail "cuda_parity"
echo "nvcc $version builds the kernels"
