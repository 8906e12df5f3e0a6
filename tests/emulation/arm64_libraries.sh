#!/bin/bash
# SPDX-License-Identifier: MIT
# arm64_libraries.sh FOLDER: unpacks Debian's arm64 libraries that the preset `arm64` links into FOLDER. Neither the
# machine's packages nor its architectures change: apt works in a state of its own. Status 77 where that is not possible.
set -euo pipefail

folder=$1
packages=(libssl-dev libssl3 libgtest-dev libgmock-dev)
if [ -e "$folder/complete" ]; then exit 0; fi
missing() {
    echo "SKIP: $1"
    exit 77
}
command -v apt-get >/dev/null && command -v dpkg >/dev/null || missing "no apt"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work"/state/lists/partial "$work"/cache/archives/partial "$work"/debs "$folder"
options=(-q -o APT::Architecture=arm64 -o APT::Architectures::=arm64 -o APT::Sandbox::User=
    -o Dir::State="$work/state" -o Dir::State::status=/dev/null -o Dir::Cache="$work/cache")
apt-get "${options[@]}" -o APT::Update::Error-Mode=any update >&2 || missing "apt has no lists of arm64"
(cd "$work/debs" && apt-get "${options[@]}" download "${packages[@]/%/:arm64}" >&2) ||
    missing "apt does not give ${packages[*]} for arm64"
for package in "$work"/debs/*.deb; do dpkg -x "$package" "$folder"; done
touch "$folder/complete"
