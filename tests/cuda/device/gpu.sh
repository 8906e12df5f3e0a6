#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# `./dev gpu`: everything that wants a GPU, in one command of less than ten minutes on a bare machine: build for the
# device that is there, parity, known answers, benchmarks, a memory checker; one table, and summary.json beside the
# logs. Nothing is installed or fetched. Without a device every part that needs one is named as skipped.
#   --out DIR        logs and summary.json, at most eight files (build/kernels/gpu)
#   --pack           put into build/gpu what a bare machine may lack, and stop: programs that need nothing but the
#                    driver, and OpenSSL to build with there
#   --programs DIR   take the programs from there and build nothing
#   --quick          a little of everything, without the memory checker
#   --seconds N      parts that might not end within N seconds are skipped (560)
set -euo pipefail

script=${BASH_SOURCE[0]}
root=$(cd "$(dirname "$script")/../../.." && pwd)
packed=$root/build/gpu
out=$root/build/kernels/gpu programs='' quick=no budget=560 action=run

say() { printf '%s\n' "$*" >&2; }
usage() { sed -n '3,11{s/^# \{0,1\}//;p}' "$script" >&2; exit 2; }

while [ $# != 0 ]; do
    case $1 in
        --pack) action=pack ;;
        --build) action=build ;;
        --quick) quick=yes ;;
        --out | --programs | --seconds)
            [ $# -ge 2 ] || usage
            case $1 in --out) out=$2 ;; --programs) programs=$2 ;; --seconds) budget=$2 ;; esac
            shift
            ;;
        *) usage ;;
    esac
    shift
done
[[ $budget =~ ^[1-9][0-9]{0,5}$ ]] || usage

# ---- building -------------------------------------------------------------------------------------------------------

# Prints the architecture that nvcc makes code for: the device that is there, with Hopper's own instructions where it
# has them, or else Hopper.
device_code() {
    local capability
    capability=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | head -n 1 | tr -d '. ' || true)
    if [ "$capability" = 90 ] || ! [[ $capability =~ ^[0-9]{2,3}$ ]]; then capability=90a; fi
    echo "arch=compute_$capability,code=sm_$capability"
}

# build_programs CMAKE_OPTION...
build_programs() {
    local nvcc=/usr/local/cuda/bin/nvcc
    nvcc=$(command -v nvcc || { [ -x $nvcc ] && echo $nvcc; }) || { say 'gpu: no nvcc'; return 1; }
    cd "$root"
    # -U: whichever OpenSSL an earlier call found is forgotten.
    cmake --preset kernels -U 'OPENSSL_*' "-DCUDAToolkit_ROOT=$(dirname "$(dirname "$nvcc")")" "$@"
    cmake --build build/kernels -j "$(nproc)" --target cuda_parity cuda_bench retrace-op
}

build_here() {
    local options=("-DRETRACE_CUDA_CODE=$(device_code)")
    # The machine's own OpenSSL, or else the packed one.
    if ! c++ -E -x c++ -include openssl/evp.h /dev/null >/dev/null 2>&1 && [ -d "$packed/openssl" ]; then
        options+=("-DOPENSSL_ROOT_DIR=$packed/openssl" -DOPENSSL_USE_STATIC_LIBS=ON)
    fi
    build_programs "${options[@]}"
}

from_cache() { sed -n "s/^$1:[A-Z]*=//p" "$root/build/kernels/CMakeCache.txt"; }

pack() {
    build_programs "-DRETRACE_CUDA_CODE=$(device_code)" -DOPENSSL_USE_STATIC_LIBS=ON >&2
    rm -rf "$packed"
    mkdir -p "$packed/bin" "$packed/openssl/include" "$packed/openssl/lib"
    local name crypto headers
    for name in cuda_parity cuda_bench retrace-op; do
        strip -o "$packed/bin/$name" "$root/build/kernels/bin/$name"
    done
    crypto=$(from_cache OPENSSL_CRYPTO_LIBRARY) headers=$(from_cache OPENSSL_INCLUDE_DIR)
    cp -L "$crypto" "${crypto/libcrypto/libssl}" "$packed/openssl/lib/"
    cp -rL "$headers/openssl" "$packed/openssl/include/"
    # Debian keeps the headers of one architecture apart.
    local apart
    apart=$headers/$(c++ -print-multiarch 2>/dev/null)/openssl
    if [ -d "$apart" ]; then cp -rL "$apart/." "$packed/openssl/include/openssl/"; fi
    git -C "$root" rev-parse HEAD >"$packed/commit"
    if ldd "$packed"/bin/* | grep -qE 'libcrypto|libssl'; then say 'gpu: no static OpenSSL here to pack'; return 1; fi
    du -sh "$packed" >&2
}

case $action in
    pack) pack; exit 0 ;;
    build) build_here; exit 0 ;;
esac

# ---- parts ----------------------------------------------------------------------------------------------------------

rm -rf "$out"
mkdir -p "$out"
out=$(cd "$out" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0 failed=0 skipped=0 summary=''

# record NAME JSON: one more member of the summary.
record() { summary+="${summary:+,}\"$1\":$2"; }
# The text as a string of JSON.
string() { printf '"%s"' "$(printf '%s' "$1" | tr -d '"\\' | tr '\n\t' '  ')"; }
skip() { state=skipped skipped=$((skipped + 1)); say "skipped: $1: $2"; record "$1" "$(string "skipped: $2")"; }

# part NAME SECONDS LOG COMMAND...: runs it if there is time. Leaves in `state` passed, failed or skipped, which a line
# "SKIP: reason" of the command means; its standard output in LOG, its errors in errors.log.
part() {
    local name=$1 seconds=$2 log=$3 status=0 reason begin=$SECONDS
    shift 3
    if [ $((SECONDS + seconds)) -gt "$budget" ]; then
        skip "$name" "may take $seconds seconds, $((budget - SECONDS)) are left"
        return 0
    fi
    timeout -k 5 "$seconds" "$@" >"$work/out" 2>"$work/err" || status=$?
    cat "$work/out" >>"$out/$log"
    cat "$work/err" >>"$out/errors.log"
    reason=$(sed -n 's/^SKIP: //p' "$work/out" "$work/err" | tail -n 1)
    if [ $status = 0 ] && [ -n "$reason" ]; then
        skip "$name" "$reason"
    elif [ $status = 0 ]; then
        state=passed passed=$((passed + 1))
        say "passed: $name, $((SECONDS - begin)) s"
    else
        state=failed failed=$((failed + 1))
        say "FAILED: $name, status $status (124: out of time), $((SECONDS - begin)) s; its last lines:"
        tail -n 6 "$work/out" "$work/err" >&2
    fi
}

# Records the counts in a part's log as a member of the summary.
record_counts() {
    if [ $state = skipped ]; then return 0; fi
    record "$1" "$(string "$state: $(grep -E '^[0-9]+ passed, |by mma.sync too: ' "$out/$2" || true)")"
}

choose_programs() {
    if [ -n "$programs" ]; then record build '"none: programs were given"'; return 0; fi
    programs=$root/build/kernels/bin
    part build 300 build.log "$script" --build
    record build "$(string "$state after $SECONDS s")"
    if [ $state = passed ]; then return 0; fi
    programs=$packed/bin
    [ -x "$programs/cuda_parity" ] || return 1
    say 'gpu: going on with the programs of build/gpu'
}

run_parity() {
    local size=(--stride 257)
    if [ $quick = yes ]; then size=(--rounds 1 --products 2 --steps 1 --layers 0 --stride 1000003); fi
    # Against AVX2, which has been tried everywhere: the host of the device may be the first with AMX.
    part parity 200 parity.log env RETRACE_CPU=avx2 "$programs/cuda_parity" "${size[@]}" \
        --golden "$root/tests/vectors/numerics_training/golden.txt"
    record_counts parity parity.log
}

run_known_answers() {
    local device
    "$programs/retrace-op" cpu >"$out/known_answers.log"
    device=$(sed -n 's/^cuda: //p' "$out/known_answers.log")
    if [[ $device == no* ]]; then skip known_answers "$device"; return 0; fi
    part known_answers 60 known_answers.log "$programs/retrace-op" check "$root/tests/vectors/numerics/cases.json"
    record_counts known_answers known_answers.log
}

# The folder of cuBLAS: beside nvcc, or in the packages of the python3 that holds PyTorch.
cublas_folder() {
    local file
    for file in /usr/local/cuda/lib64/libcublas.so.1? /usr/local/cuda/targets/*/lib/libcublas.so.1?; do
        if [ -e "$file" ]; then dirname "$file"; return 0; fi
    done
    python3 -c 'import glob, os, sys
found = [p for root in sys.path for p in glob.glob(root + "/nvidia/*/lib/libcublas.so.1?")]
print(os.path.dirname(found[0]) if found else "")' 2>/dev/null || true
}

# run_bench NAME SECONDS OPTION...
run_bench() {
    local name=$1 seconds=$2 path
    shift 2
    path=$(cublas_folder)
    path=${LD_LIBRARY_PATH:-}${path:+:$path}
    if [ $quick = yes ]; then set -- --smoke "$@"; fi
    part "$name" "$seconds" "$name.json" env "LD_LIBRARY_PATH=${path#:}" "$programs/cuda_bench" --json "$@"
    case $state in
        passed) record "$name" "$(cat "$out/$name.json")" ;;
        failed) record "$name" '"failed"' ;;
    esac
}

run_benches() {
    local peer=()
    if [ $quick = no ] && python3 -c 'import torch' 2>/dev/null; then
        peer=(--peer "python3 $root/tests/cuda/device/gpt_torch.py")
    fi
    run_bench bench 180 "${peer[@]}"
}

# One step of two layers, kernel by kernel: time, bytes, instructions, how busy the issue slots and the warps were.
run_profile() {
    local metrics=gpu__time_duration.sum,dram__bytes_read.sum,dram__bytes_write.sum,smsp__inst_executed.sum
    metrics+=,smsp__issue_active.avg.pct_of_peak_sustained_active,sm__warps_active.avg.pct_of_peak_sustained_active
    if [ $quick = yes ]; then return 0; fi
    if ! command -v ncu >/dev/null; then skip profile 'no ncu'; return 0; fi
    part profile 90 errors.log ncu --clock-control none --metrics $metrics --csv --log-file "$out/profile.csv" \
        "$programs/cuda_bench" --only step --layers 2
    record profile "$(string "$state")"
}

# Last, because it is slow: reads and writes out of bounds, races in shared memory.
run_sanitizer() {
    local tool
    if [ $quick = yes ]; then return 0; fi
    for tool in memcheck racecheck; do
        if ! command -v compute-sanitizer >/dev/null; then skip $tool 'no compute-sanitizer'; continue; fi
        part $tool 90 sanitizer.log compute-sanitizer --tool $tool --error-exitcode 9 \
            "$programs/cuda_parity" --rounds 1 --products 4 --steps 1 --stride 1000003
        record_counts $tool sanitizer.log
    done
}

table() {
    local row='s/.*"name":"\([^"]*\)","value":\([^,]*\),"unit":"\([^"]*\)","peer":"\([^"]*\)",.*"ratio":\([^}]*\)}.*'
    cat "$out"/bench*.json 2>/dev/null | tr '{' '\n' | sed -n "$row/\\1: \\2 \\3, ratio \\5 (\\4)/p"
}

machine=$(nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader 2>/dev/null | head -n 1 || true)
commit=$(git -C "$root" rev-parse HEAD 2>/dev/null || cat "$packed/commit" 2>/dev/null || echo unknown)
choose_programs || { say 'gpu: no programs to run'; exit 1; }
run_parity
run_known_answers
run_benches
run_profile
run_sanitizer
printf '{"machine":%s,"commit":"%s","date":"%s","seconds":%s,%s}\n' "$(string "${machine:-no GPU}")" "$commit" \
    "$(date -u +%F)" "$SECONDS" "$summary" >"$out/summary.json"
table
say "$SECONDS s; $out/summary.json"
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
