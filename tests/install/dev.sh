#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# dev.sh SOURCE: ./dev in a copy of its own, where dpkg-query, apt and the build tools are stand-ins: what it installs,
# what it goes on without, and what it refuses.
set -euo pipefail

source=$1
command -v dpkg >/dev/null || { echo "SKIP: no dpkg, whose order of versions is asked for"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "dev.sh: $*"; cat "$work/said"; exit 1; }

# Of the stand-ins: `archive` and `installed` hold "package version" lines, `broken` what cannot be installed, `calls`
# what apt-get was asked for; `offline` makes its update fail. As apt does, they speak the language of LANGUAGE.
mkdir -p "$work/clone/solver/torch" "$work/bin"
cp -r "$source/dev" "$source/.ci" "$work/clone"
export STAND_IN=$work PATH=$work/bin:$PATH LANGUAGE=de
stand_in() { { echo '#!/bin/bash'; cat; } >"$work/bin/$1"; chmod +x "$work/bin/$1"; }
stand_in sudo <<<'exec "$@"'
stand_in cmake <<<'if [ "$1" = --preset ]; then mkdir -p "build/$2"; fi'
stand_in ctest <<'END_OF'
while [ "$1" != --output-junit ]; do shift; done
printf '<testsuite\n\ttests="%s"\n\tfailures="0"\n\tdisabled="0"\n\tskipped="0"\n>\n' "${TESTS:-0}" >"$2"
END_OF
for name in clang++ clang++-14 clang++-19; do stand_in $name <<<'exit 1'; done  # each without its runtime
stand_in dpkg-query <<<'sed "s/^/installed /" "$STAND_IN/installed"'
stand_in apt-cache <<'END_OF'
label=Candidate
if [ -n "$LANGUAGE" ]; then label=Installationskandidat; fi
sed -n "s/^$2 /  $label: /p" "$STAND_IN/archive"
END_OF
stand_in apt-get <<'END_OF'
echo "$*" >>"$STAND_IN/calls"
if [ "$1" = update ]; then  # apt calls a network that is down an error only if it is told to
    if [ -e "$STAND_IN/offline" ] && [[ $* == *Error-Mode=any* ]]; then exit 100; fi
    exit 0
fi
for word in "$@"; do
    if grep -qxF -- "$word" "$STAND_IN/broken"; then exit 100; fi
done
for word in "$@"; do grep -F -- "$word " "$STAND_IN/archive" >>"$STAND_IN/installed"; done
END_OF

# Debian 12 as far as ./dev knows it, with nothing of it installed.
fresh() {
    rm -rf "$work/clone/build" "$work/offline" "$work/installed" "$work/broken" "$work/archive"
    touch "$work/installed" "$work/broken"
    local package
    for package in g++ cmake ninja-build pkg-config libssl-dev libcrypto++-dev libsecp256k1-dev librocksdb-dev \
        libprotobuf-dev protobuf-compiler libspdlog-dev libfmt-dev libcli11-dev libtomlplusplus-dev \
        prometheus-cpp-dev libzstd-dev zlib1g-dev libpng-dev libicu-dev libjpeg-dev libgtest-dev libgmock-dev \
        dataset-fashion-mnist libtorch-dev libopenblas0-openmp libseccomp-dev dpkg-dev file clang-19 libclang-rt-19-dev clang-14; do
        echo "$package 1" >>"$work/archive"
    done
    printf '%s\n' "libboost-dev 1.74.0.3" "libboost1.81-dev 1.81.0-5" "libboost-json1.81-dev 1.81.0-5" >>"$work/archive"
}
# dev STATUS WORD...
dev() {
    local wanted=$1 status=0
    shift
    : >"$work/calls"
    "$work/clone/dev" "$@" >"$work/said" 2>&1 || status=$?
    [ $status = "$wanted" ] || fail "$* ended with $status, not $wanted"
}
said() { grep -qF -- "$1" "$work/said" || fail "nobody said: $1"; }
asked() { grep -qF -- "$1" "$work/calls"; }
has() { for name in "$@"; do grep -q "^$name " "$work/installed" || fail "$name was not installed"; done; }
lacks() { if grep -q "^$1 " "$work/installed"; then fail "$1 was installed"; fi; }

fresh
echo libtorch-dev >"$work/broken"
dev 0 build
has libboost1.81-dev libboost-json1.81-dev dataset-fashion-mnist libopenblas0-openmp
lacks libboost-dev
said "going on without libtorch-dev"
dev 0 build
asked "libtorch-dev" || fail "what failed once is never tried again"
said "going on without libtorch-dev"

# What the archive does not have is asked for once, and named each time.
sed -i '/^libtorch-dev/d' "$work/archive"
dev 0 build
dev 0 build
said "going on without libtorch-dev, which the archive does not have"
[ ! -s "$work/calls" ] || fail "the network is asked each time for what the archive does not have"
echo "libtorch-dev 2" >>"$work/archive"
: >"$work/broken"
dev 0 build
has libtorch-dev

# With lists that could not be fetched, nobody knows what the archive has.
fresh
dev 0 build
sed -i '/^libtorch-dev/d' "$work/archive" "$work/installed"
touch "$work/offline"
dev 0 build
dev 0 build
asked update || fail "without a network a package is taken for one that the archive lacks"

fresh
echo "libboost-dev 1.74.0.3" >"$work/installed"
echo libboost1.81-dev >"$work/broken"
dev 1 build
said "libboost1.81-dev|"
said "conflict, and these are installed"
said "apt-get install --no-install-recommends libboost1.81-dev libboost-json1.81-dev"

# Compiler and runtime are of one version: this archive has both of 19 alone.
fresh
mkdir -p "$work/clone/tests/fuzz/merkle"
touch "$work/clone/tests/fuzz/merkle/codec.cpp"
dev 1 fuzz codec --seconds 1
has clang-19 libclang-rt-19-dev
lacks clang-14
said "no clang that links a fuzzer"

TESTS=1 dev 0 test
said "1 passed, 0 failed"
said "(Debian packages clang-19 libclang-rt-19-dev)"
dev 1 test -R no_such_name
said "no such test"
for command in build lint clean; do dev 2 $command more; done
for seconds in 0 3601 9999 x; do dev 2 bench --seconds $seconds; done
dev 1 bench kernels
said "it needs the Debian packages libdnnl-dev libopenblas-openmp-dev"
said "nothing was measured"
dev 2 package --elsewhere
dev 2 package --here more

# A package has the console in it, so none is made without npm. This machine may have it.
mkdir "$work/programs"
ln -s /usr/bin/* "$work/programs"
rm -f "$work/programs/npm"
fresh
PATH=$work/bin:$work/programs dev 1 package --here
said "npm is missing, and a package without the console is not made"
has dpkg-dev file
echo "as it says"
