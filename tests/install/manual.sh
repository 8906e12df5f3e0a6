#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# manual.sh RETRACE: what shells complete, and the manual pages, have each command and flag of --help and no others.
# Real shells source the scripts; those that are not installed are named, as are man and mandoc.
set -euo pipefail

retrace=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "manual.sh: $*"; exit 1; }
missing=()

for shell in bash zsh fish; do "$retrace" completion $shell >"$work/$shell"; done
status=0
"$retrace" completion csh >/dev/null 2>&1 || status=$?
[ $status = 2 ] || fail "another shell's name ends with $status, not 2"

in_bash() {
    bash -c 'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _retrace; printf "%s\n" "${COMPREPLY[@]}"' \
        - "$work/bash" "$@"
}
# The functions of zsh's completion system are replaced by ones that print what they are given.
in_zsh() {
    zsh -f -c '
        compdef() { }
        _files() { print -r -- FILES }
        compadd() { print -rl -- "${@:#--}" }
        _describe() { local name=${@[-1]}; print -rl -- "${(@)${(@P)name}%%:*}" }
        source $1; shift; words=("$@") CURRENT=$#; _retrace' - "$work/zsh" "$@"
}
in_fish() { fish --no-config -c 'source $argv[1]; complete -C "$argv[2]"' "$work/fish" "$*" | cut -f 1; }

# The words after a heading of --help, such as Subcommands: the first of each line that is indented by two blanks.
listed() { "$retrace" "${@:2}" --help | awk -v head="$1:" '$0 == head { on = 1; next } /^[^ ]/ { on = 0 } on && /^  [^ ]/ { print $1 }'; }
flags_of() {
    "$retrace" "$@" --help | grep -oE '^ {2,4}(-[a-zA-Z],)?--?[a-z][a-z0-9-]*(,--[a-z][a-z0-9-]*)*' | tr ', ' '\n\n' |
        grep . | sort -u
}

check_place() {
    local shell found
    listed Subcommands "$@" | sort >"$work/commands"
    flags_of "$@" >"$work/flags"
    for shell in "${shells[@]}"; do
        if [ -s "$work/commands" ]; then
            found=$("in_$shell" retrace "$@" '' | grep -v '^-' | sort)
            [ "$found" = "$(cat "$work/commands")" ] || fail "$shell offers other commands after retrace $*: $found"
        fi
        found=$({ "in_$shell" retrace "$@" --; "in_$shell" retrace "$@" -; } | grep '^-' | sort -u)
        [ "$found" = "$(cat "$work/flags")" ] ||
            fail "$shell offers other flags after retrace $*: $(diff <(echo "$found") "$work/flags")"
    done
    places=$((places + 1))
    local command
    for command in $(cat "$work/commands"); do check_place "$@" "$command"; done
}

shells=()
for shell in bash zsh fish; do
    if command -v $shell >/dev/null; then shells+=("$shell"); else missing+=("$shell"); fi
done
places=0
check_place
[ $places -gt 40 ] || fail "only $places commands were found in --help"

for shell in "${shells[@]}"; do
    [ "$("in_$shell" retrace node --engine '' | sort | xargs)" = "comet solo" ] || fail "$shell: the values of --engine"
    [ "$("in_$shell" retrace completion '' | sort | xargs)" = "bash fish zsh" ] || fail "$shell: the names of shells"
done
[ "$(in_bash retrace node --engine = s)" = solo ] || fail "bash: --engine=s"
[ "$(cd "$work" && in_bash retrace node --config z)" = zsh ] || fail "bash: the name of a file"

"$retrace" man "$work/man"
[ "$(ls "$work/man" | sed 's/^retrace-//; s/\.1$//' | sort)" = "$({ listed Subcommands; echo retrace; } | sort)" ] ||
    fail "other pages than commands: $(ls "$work/man")"
SOURCE_DATE_EPOCH=86400 "$retrace" man "$work/dated"
grep -q '^\.TH RETRACE-NODE 1 1970-01-02 ' "$work/dated/retrace-node.1" || fail "the date is not that of SOURCE_DATE_EPOCH"
if command -v mandoc >/dev/null; then
    mandoc -T lint -W warning "$work"/man/*.1 >"$work/lint" || fail "mandoc: $(head "$work/lint")"
else
    missing+=(mandoc)
fi
if command -v man >/dev/null; then
    MANWIDTH=80 LC_ALL=C.UTF-8 man --warnings -l "$work/man/retrace-task.1" >"$work/task" 2>"$work/warnings"
    [ ! -s "$work/warnings" ] || fail "man: $(cat "$work/warnings")"
    for flag in $(flags_of task submit); do grep -q -- "$flag" "$work/task" || fail "the page of task lacks $flag"; done
else
    missing+=(man)
fi
status=0
"$retrace" man /proc/none >/dev/null 2>"$work/refused" || status=$?
[ $status = 1 ] && grep -q 'could not be written' "$work/refused" || fail "a folder that cannot be made"
if [ ${#missing[@]} = 5 ]; then echo "SKIP: none of ${missing[*]} is installed"; exit 77; fi
echo "$places commands with all their flags in ${shells[*]}; without ${missing[*]:-nothing}"
