#!/bin/bash
# SPDX-License-Identifier: MIT
# newest_torch.sh FOLDER: makes a virtual environment with the newest PyTorch that PyPI has for this machine, some
# gigabytes. Status 77 where that is not possible. An environment that is there is kept.
set -euo pipefail

folder=$1
if [ -e "$folder/complete" ]; then exit 0; fi
missing() {
    echo "SKIP: $1" >&2
    exit 77
}
python3 -m venv "$folder" >&2 || missing "no virtual environments (Debian package python3-venv)"
"$folder/bin/pip" install -q torch numpy >&2 || missing "PyPI gives no PyTorch"
touch "$folder/complete"
