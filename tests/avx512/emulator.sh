#!/usr/bin/env bash
# An emulated PC whose CPU has AVX-512: Bochs boots a Debian kernel with a folder of the caller's as its file system, and runs one command.
#
#   bash tests/avx512/emulator.sh WORK_DIR KERNEL ROOT_DIR SECONDS COMMAND
#
# ROOT_DIR becomes the machine's root; busybox and /init are added to it. Prints what the command prints, and ends with its exit status;
# with 70 where the machine did not come to its end within SECONDS. The machine's files are left in WORK_DIR.
set -euo pipefail
work=${1:?WORK_DIR} kernel=${2:?KERNEL} root=${3:?ROOT_DIR} limit=${4:?SECONDS} command=${5:?COMMAND}
incomplete=70
mkdir -p "$work"
work=$(cd "$work" && pwd)

# The serial line is all that comes out of the machine. Switched off at once, it would lose the line's end.
write_init() {
  mkdir -p "$root"/{bin,proc,sys,dev,tmp}
  cp "$(command -v busybox)" "$root/bin/busybox"
  local tool
  for tool in sh mount stty sleep poweroff; do ln -sf busybox "$root/bin/$tool"; done
  cat >"$root/init" <<EOF
#!/bin/sh
mount -t devtmpfs dev /dev
exec </dev/null >/dev/ttyS0 2>&1
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t tmpfs tmp /tmp
($command)
echo "machine: status \$?"
stty -F /dev/ttyS0 sane
sleep 1
poweroff -f
EOF
  chmod +x "$root/init"
}

# The kernel finds the sizes of some XSAVE areas that Bochs 2.7 reports inconsistent, and switches AVX-512 off: without XSAVES and the two
# features of those areas (PKU, OSPKE) it does not.
write_cd() {
  local cd=$work/cd
  rm -rf "$cd" && mkdir -p "$cd"
  cp /usr/lib/ISOLINUX/isolinux.bin /usr/lib/syslinux/modules/bios/ldlinux.c32 "$cd/"
  cp "$kernel" "$cd/vmlinuz"
  (cd "$root" && find . | cpio --quiet -o -H newc --owner 0:0) | gzip -1 >"$cd/initrd"
  cat >"$cd/isolinux.cfg" <<'EOF'
default machine
label machine
  kernel vmlinuz
  append initrd=initrd console=ttyS0 quiet tsc=unstable clocksource=jiffies mitigations=off noxsaves clearcpuid=321,323
EOF
  xorriso -as mkisofs -quiet -o "$work/cd.iso" -b isolinux.bin -c boot.cat -no-emul-boot -boot-load-size 4 -boot-info-table "$cd" \
    >"$work/xorriso.log" 2>&1
}

# A display is obligatory: a terminal of its own where this system has pseudo-terminals (a change root may not), else one that waits for
# viewers over the network.
display() {
  if script -qfc true /dev/null >/dev/null 2>&1; then echo term; else echo 'rfb, options="timeout=0"'; fi
}

write_settings() {
  cat >"$work/bochsrc" <<EOF
cpu: model=corei7_skylake_x, count=1, ips=50000000
megs: 1024
romimage: file=/usr/share/bochs/BIOS-bochs-latest
vgaromimage: file=/usr/share/bochs/VGABIOS-lgpl-latest
ata0-master: type=cdrom, path=$work/cd.iso, status=inserted
boot: cdrom
com1: enabled=1, mode=file, dev=$work/serial
display_library: $(display)
log: $work/bochs.log
EOF
  # Debian's Bochs has its debugger on, which reads what to do first from a file: continue.
  echo c >"$work/debugger"
}

write_init
write_cd
write_settings
rm -f "$work/serial"
touch "$work/serial"
status=0
TERM=vt100 timeout "$limit" bochs -q -rc "$work/debugger" -f "$work/bochsrc" </dev/null >"$work/screen" 2>&1 || status=$?
tr -d '\r' <"$work/serial" | sed '/^machine: /d'
result=$(tr -d '\r' <"$work/serial" | sed -nE 's/^machine: status ([0-9]+)$/\1/p' | tail -1)
if [ -z "$result" ]; then
  echo "the emulated machine did not come to its end (Bochs: $status)"
  exit $incomplete
fi
exit "$result"
