#!/bin/sh
# SPDX-License-Identifier: MIT
# manual.sh RETRACE FOLDER: writes the manual pages and the completion scripts, as the program prints them, into FOLDER.
set -e
program=$1 folder=$2
rm -rf "$folder"
mkdir -p "$folder/man" "$folder/bash" "$folder/zsh" "$folder/fish"
# Help prints the folder of the user's keys.
HOME='~' "$program" man "$folder/man"
gzip -9n "$folder"/man/*.1
"$program" completion bash >"$folder/bash/retrace"
"$program" completion zsh >"$folder/zsh/_retrace"
"$program" completion fish >"$folder/fish/retrace.fish"
touch "$folder/done"
