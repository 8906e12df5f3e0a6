#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# fresh_debian.sh SUITE [COMMAND...]: makes a bare Debian tree, puts the committed sources into it, and runs
# `./dev COMMAND...` there, by default the README's two: test and demo. Needs root and debootstrap.
# TREES=FOLDER keeps the trees between runs.
set -euo pipefail
# shellcheck source=tests/install/debian_tree.sh
source "$(dirname "${BASH_SOURCE[0]}")/debian_tree.sh"

suite=${1:?a Debian suite, such as bookworm or trixie}
shift
open_tree "$suite"
# German, so that whoever reads what apt prints is seen to ask for the untranslated text.
dev() { in_tree LANGUAGE=de /src/dev "$@"; }
if [ $# != 0 ]; then
    dev "$@"
else
    dev test
    dev demo
fi
