#!/bin/busybox sh
# SPDX-License-Identifier: MIT
# shellcheck shell=dash
# The first and only process of the emulated machine: runs every program, writes one line `status NAME N` after
# each to the serial port, and switches off. amx_in_bochs.sh reads those lines.
export PATH=/bin GTEST_COLOR=no
busybox mount -t proc proc /proc
busybox mount -t devtmpfs dev /dev
exec >/dev/console 2>&1
echo "processor: $(busybox grep -m1 'model name' /proc/cpuinfo | busybox cut -d: -f2)"
echo "flags: $(busybox grep -m1 flags /proc/cpuinfo | busybox tr ' ' '\n' | busybox grep -E '^(amx|avx|fma)' |
    busybox tr '\n' ' ')"

# Bochs knows no XFD, so this kernel does not save tiles when it goes from thread to thread. Threads of the class FIFO
# are not interrupted by each other, and a product never waits between its first tile and its last.
echo -1 >/proc/sys/kernel/sched_rt_runtime_us
run() {
    name=$1
    shift
    busybox grep -qx "$name" /names || return
    chrt -f 1 "$@"
    echo "status $name $?"
}

for level in scalar avx2 avx512 vnni amx; do
    RETRACE_CPU=$level run "cpu_$level" retrace-op cpu
done
run amx_tiles amx_tiles
run vectors retrace-op check /cases.json
products=NumericsMatmul
run edges unit_kernels --gtest_filter="$products.EmptyAndTinyShapes:$products.EdgesOfTilesAndBlocks"
RETRACE_CPU=amx run trainings unit_kernels '--gtest_filter=*GoldenTraining.RootOnAnyNumberOfThreads*:Fusion.*'
run random unit_kernels --gtest_filter="$products.RandomShapesLayoutsAndData"
echo "end of the guest"
busybox sleep 2  # what is still on its way to the serial port
busybox reboot -f
