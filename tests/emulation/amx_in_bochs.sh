#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# amx_in_bochs.sh AMX_TILES RETRACE_OP UNIT_KERNELS: boots Linux on the Sapphire Rapids that Debian's Bochs emulates,
# runs the three programs there (guest_init.sh) and reads from the serial port what they said. Needs root and
# debootstrap. TREES=FOLDER keeps the tree of packages between runs; LOG=FILE keeps what the guest wrote; ONLY="NAME..."
# runs some of the names in guest_init.sh.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
vectors=$(cd "$here/../vectors" && pwd)
programs=("${1:?amx_tiles}" "${2:?retrace-op}" "${3:?unit_kernels}" "$(command -v chrt)")
levels=(scalar avx2 avx512 vnni amx)
read -ra names <<<"${ONLY:-${levels[*]/#/cpu_} amx_tiles vectors edges trainings random}"
skip() { echo "SKIP: $*"; exit 77; }
fail() { echo "FAILED: $*"; exit 1; }
[ "$(uname -m)" = x86_64 ] || skip "the programs to run are for another processor"
[ "$(id -u)" = 0 ] || skip "debootstrap needs root"
command -v debootstrap >/dev/null || skip "no debootstrap"

trees=${TREES:-$(mktemp -d)}
tree=$trees/bochs
guest=$tree/guest
log=${LOG:-$trees/serial}

# --one-file-system: if a mount should survive, what it shows is not ours to delete.
leave() {
    if mountpoint -q "$tree/proc"; then umount "$tree/proc"; fi
    if [ -z "${TREES:-}" ]; then rm -rf --one-file-system "$trees"; fi
}
trap leave EXIT

in_tree() {
    chroot "$tree" /usr/bin/env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 \
        DEBIAN_FRONTEND=noninteractive "$@"
}

# The kernel is that of trixie-backports: `setcpuid=` below came after trixie's own.
make_tree() {
    local mirror image
    rm -rf --one-file-system "$tree"
    debootstrap --variant=minbase trixie "$tree" >"$trees/debootstrap.log" || skip "debootstrap could not make trixie"
    mirror=$(awk '$1 == "deb" {print $2; exit}' "$tree/etc/apt/sources.list")
    echo "deb $mirror trixie-backports main" >>"$tree/etc/apt/sources.list"
    cp /etc/resolv.conf "$tree/etc/resolv.conf"
    mount -t proc proc "$tree/proc"
    in_tree apt-get -qq update || skip "no lists of packages"
    in_tree apt-get -qq -y --no-install-recommends install bochs bochs-term isolinux syslinux-common xorriso \
        busybox-static >"$trees/apt.log" 2>&1 || skip "bochs could not be installed"
    image=$(in_tree apt-cache depends linux-image-cloud-amd64/trixie-backports |
        grep -om1 'linux-image-[0-9][^ ]*') || skip "no kernel in trixie-backports"
    mkdir -p "$tree/kernel"
    in_tree sh -c "cd /kernel && apt-get -qq -o APT::Sandbox::User=root download ${image/image/binary} &&
        dpkg-deb -x *.deb ." || skip "no kernel in trixie-backports"
    umount "$tree/proc"
    touch "$tree/made"
}

# The first files of the guest: busybox, the programs, and the libraries that they were linked with here.
make_guest() {
    local root=$guest/root library
    rm -rf "$guest"
    mkdir -p "$root"/{bin,proc,dev,lib,lib64} "$guest/iso/isolinux"
    cp "$tree/usr/bin/busybox" "${programs[@]}" "$root/bin/"
    ln -s busybox "$root/bin/sh"
    for library in $(ldd "${programs[@]}" | grep -o '/[^ ]*\.so[^ ]*' | sort -u); do cp -L "$library" "$root/lib/"; done
    mv "$root"/lib/ld-linux-x86-64.so.2 "$root/lib64/"
    printf '%s\n' "${names[@]}" >"$root/names"
    cp "$vectors/numerics/cases.json" "$root/cases.json"
    # unit_kernels knows them by the path that they have here.
    mkdir -p "$root$vectors"
    cp -r "$vectors/numerics_training" "$root$vectors/"
    cp "$here/guest_init.sh" "$root/init"
    in_tree sh -c 'cd /guest/root && find . | busybox cpio -o -H newc 2>/dev/null | gzip -1 >../iso/initrd.gz'
    cp "$(find "$tree/kernel" -name 'vmlinuz*' | head -n 1)" "$guest/iso/vmlinuz"
    cp "$tree"/usr/lib/ISOLINUX/isolinux.bin "$tree"/usr/lib/syslinux/modules/bios/ldlinux.c32 "$guest/iso/isolinux/"
    # setcpuid=324 (XFD): without it Linux leaves the tiles out of XCR0, and Bochs does not say that it has it. no5lvl
    # and acpi=off: Bochs 3.0 does not come back from system management with five levels of pages.
    cat >"$guest/iso/isolinux/isolinux.cfg" <<'END'
DEFAULT linux
LABEL linux
KERNEL /vmlinuz
INITRD /initrd.gz
APPEND console=ttyS0 quiet setcpuid=324 no5lvl acpi=off nosmp nokaslr mitigations=off reboot=t panic=-1
END
    in_tree xorriso -as mkisofs -quiet -o /guest/guest.iso -b isolinux/isolinux.bin -c isolinux/boot.cat \
        -no-emul-boot -boot-load-size 4 -boot-info-table /guest/iso 2>"$guest/xorriso.log"
    # The guest ends with a triple fault, at which Bochs ends with status 1; what counts is the serial port.
    cat >"$guest/bochsrc" <<'END'
cpu: model=sapphire_rapids, count=1, ips=100000000, reset_on_triple_fault=0
megs: 1024
romimage: file=/usr/share/bochs/BIOS-bochs-latest
vgaromimage: file=/usr/share/vgabios/vgabios.bin
ata0-master: type=cdrom, path=/guest/guest.iso, status=inserted
boot: cdrom
display_library: rfb, options="timeout=0"
clock: sync=none, time0=utc
com1: enabled=1, mode=file, dev=/guest/serial
log: /guest/bochs.log
panic: action=fatal
END
}

# Bochs 3.0 multiplies the signed bytes of TDPBSSD as unsigned ones; a later source has them signed. Here the same is
# done to the function as Debian compiled it: six moves that fill with zeros (movzbl) and two shifts (shr) become those
# that repeat the sign (movsbl, sar). Another Bochs is taken as it is.
mend_bochs() {
    local was now
    was=440fb6c20fb6c6440fb6d10fb6ed450fafc24189cac1e9180fafc541c1ea10450fb6d2
    was+=4401c04189d0c1ea1841c1e8100fafd1450fb6c0
    now=440fbec20fbec6440fbed10fbeed450fafc24189cac1f9180fafc541c1ea10450fbed2
    now+=4401c04189d0c1fa1841c1e8100fafd1450fbec0
    # shellcheck disable=SC2016  # Perl's variables. The first of two such places; the second is TDPBSUD's.
    in_tree perl -0777 -ne 'BEGIN { ($was, $now) = map { pack "H*", $_ } splice @ARGV, 0, 2 }
        $at = index $_, $was; substr($_, $at, length $was) = $now if $at >= 0; print' \
        "$was" "$now" /usr/bin/bochs-bin >"$tree/usr/bin/bochs-mended"
    chmod +x "$tree/usr/bin/bochs-mended"
    if cmp -s "$tree/usr/bin/bochs-bin" "$tree/usr/bin/bochs-mended"; then
        echo "bochs: as it is"
    else
        echo "bochs: TDPBSSD mended"
    fi
}

mkdir -p "$trees"
if [ ! -e "$tree/made" ]; then make_tree; fi
mend_bochs
make_guest
# Without a network: this display waits for viewers on a port.
timeout "${LIMIT:-10800}" unshare --net chroot "$tree" bochs-mended -q -f /guest/bochsrc >"$guest/screen" 2>&1 \
    </dev/null || true
[ -e "$guest/serial" ] || { tail -n 20 "$guest/screen"; fail "the guest never wrote to its serial port"; }
tr -d '\r' <"$guest/serial" >"$log"
cat "$log"

grep -q '^flags: .*amx_tile.*amx_int8' "$log" || fail "the guest's kernel does not know AMX"
for name in "${names[@]}"; do
    grep -qx "status $name 0" "$log" || fail "$name"
    if [[ $name == cpu_* ]]; then grep -qx "${name#cpu_} (in use)" "$log" || fail "RETRACE_CPU=${name#cpu_}"; fi
done
if grep -q '  SKIPPED \|^SKIP' "$log"; then fail "something was skipped"; fi
grep -qx "end of the guest" "$log" || fail "the guest did not come to its end"
echo "bochs $(in_tree dpkg-query -W bochs | cut -f 2): passed ${names[*]}"
