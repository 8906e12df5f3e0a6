#!/bin/bash
# SPDX-License-Identifier: MIT
# wheels.sh nvcc|cutlass FOLDER: unpacks wheels of PyPI, which are files to unpack, into FOLDER: nvcc with the CUDA
# runtime, whose path it prints, or CuTe's headers. Status 77 where that is not possible.
set -euo pipefail

what=$1 folder=$2
case $what in
    # 13.0 is what a device's machine was given programs of (kernels/cuda/README.md). 105 MB.
    nvcc) packages=(nvidia-cuda-nvcc==13.0.* nvidia-cuda-crt==13.0.* nvidia-nvvm==13.0.* nvidia-cuda-runtime==13.0.*
        nvidia-cuda-cccl==13.0.*) ;;
    cutlass) packages=(nvidia-cutlass) ;;
    *) exit 2 ;;
esac
tools=$folder/nvidia/cu13

if [ ! -e "$folder/complete" ]; then
    if ! python3 -m pip --version >/dev/null 2>&1; then
        echo "SKIP: no pip to fetch $what (Debian package python3-pip)" >&2
        exit 77
    fi
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    if ! python3 -m pip download -q --no-deps -d "$work" "${packages[@]}" >&2; then
        echo "SKIP: PyPI gives no $what" >&2
        exit 77
    fi
    mkdir -p "$folder"
    for wheel in "$work"/*.whl; do python3 -m zipfile -e "$wheel" "$folder"; done
    if [ "$what" = nvcc ]; then
        chmod +x "$tools"/bin/* "$tools"/nvvm/bin/*
        # The names by which CMake and linkers look for them.
        ln -sfn lib "$tools/lib64"
        ln -sfn libcudart.so.13 "$tools/lib/libcudart.so"
    fi
    touch "$folder/complete"
fi
if [ "$what" = nvcc ]; then
    "$tools/bin/nvcc" --version >&2
    echo "$tools/bin/nvcc"
fi
