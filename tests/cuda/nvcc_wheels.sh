#!/bin/bash
# SPDX-License-Identifier: MIT
# nvcc_wheels.sh FOLDER: unpacks nvcc and the CUDA runtime into FOLDER from PyPI, whose wheels are files to unpack, and
# prints nvcc's path. Status 77 where that is not possible.
set -euo pipefail

folder=$1
nvcc=$folder/nvidia/cu13/bin/nvcc
packages=(nvidia-cuda-nvcc nvidia-cuda-crt nvidia-nvvm nvidia-cuda-runtime nvidia-cuda-cccl)  # 105 MB
version=13.0  # What the kernels were compiled with on a device's machine (kernels/cuda/README.md).
if [ ! -e "$folder/complete" ]; then
    if ! python3 -m pip --version >/dev/null 2>&1; then
        echo "SKIP: no nvcc, and no pip to fetch one (Debian package python3-pip)" >&2
        exit 77
    fi
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    if ! python3 -m pip download -q --no-deps -d "$work" "${packages[@]/%/==$version.*}" >&2; then
        echo "SKIP: no nvcc, and PyPI gives none" >&2
        exit 77
    fi
    mkdir -p "$folder"
    for wheel in "$work"/*.whl; do python3 -m zipfile -e "$wheel" "$folder"; done
    chmod +x "$folder"/nvidia/cu13/bin/* "$folder"/nvidia/cu13/nvvm/bin/*
    # The names by which CMake and linkers look for them.
    ln -sfn lib "$folder/nvidia/cu13/lib64"
    ln -sfn libcudart.so.13 "$folder/nvidia/cu13/lib/libcudart.so"
    touch "$folder/complete"
fi
"$nvcc" --version >&2
echo "$nvcc"
