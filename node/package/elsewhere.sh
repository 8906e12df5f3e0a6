#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# elsewhere.sh SUITE FOLDER: makes the packages of the committed sources for another Debian, such as trixie, in a bare
# tree of it, and copies them into FOLDER. Needs root, debootstrap and SOURCE_DATE_EPOCH. TREES=FOLDER keeps the tree.
set -euo pipefail
# shellcheck source=tests/install/debian_tree.sh
source "$(dirname "${BASH_SOURCE[0]}")/../../tests/install/debian_tree.sh"

suite=${1:?a Debian suite} folder=${2:?where the packages go}
open_tree "$suite"
# npm in the tree trusts whom npm here was told to trust.
authorities=()
if [ -n "${NODE_EXTRA_CA_CERTS:-}" ]; then
    cp "$NODE_EXTRA_CA_CERTS" "$tree/etc/extra-authorities.pem"
    authorities=(NODE_EXTRA_CA_CERTS=/etc/extra-authorities.pem)
fi
in_tree "${authorities[@]}" SOURCE_DATE_EPOCH="${SOURCE_DATE_EPOCH:?the time of the commit}" /src/dev package --here
cp "$tree"/src/build/package/*.deb "$folder"
