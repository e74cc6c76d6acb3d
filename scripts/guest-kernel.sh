#!/usr/bin/env bash
# Unpacks a kernel for virtual machines (guest.sh) into a folder, beside which windtunnel then looks for it: the
# image, and the modules that a guest needs. Installs nothing.
#
#   guest-kernel.sh FOLDER [-kernel KERNEL]
#
# KERNEL is a Debian package of a kernel (a name or a file). It ends with 3 where it cannot be had.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/guest.sh

usage() { sed -n '5,7s/^# \{0,3\}//p' "$0" >&2; exit 2; }
[ $# -ge 1 ] || usage
folder=$1 kernel=linux-image-cloud-amd64
[ "$(uname -m)" != aarch64 ] || kernel=linux-image-cloud-arm64
shift
guest_options "-kernel" "$@"
# Those that any guest needs, and those of a container in one.
modules="virtio_pci virtio_net virtio_console sch_ingress cls_bpf veth bridge nft_chain_nat nft_nat nft_masq"
if compgen -G "$folder/boot/vmlinuz-*" >/dev/null && [ "$kernel $modules" = "$(cat "$folder/package" 2>/dev/null)" ]; then
	exit 0
fi

guest_begin
package=$kernel
# The package of that name holds nothing but its need of the newest kernel's.
if [ ! -f "$package" ]; then
	newest=$(apt-cache depends "$package" 2>/dev/null | awk '$1 == "Depends:" && $2 ~ /^linux-image-[0-9]/ { print $2; exit }')
	package=${newest:-$package}
fi
guest_kernel "$package"
guest_modules $modules
mkdir -p "$work/guest/boot"
cp "$work/kernel/boot/vmlinuz-$release" "$work/guest/boot"
cp -r "$root/lib" "$work/guest/lib"
cp "$tree/modules.builtin" "$work/guest/lib/modules/$release"
echo "$kernel $modules" >"$work/guest/package"
chmod 755 "$work/guest"
rm -rf "$folder"
mkdir -p "$(dirname "$folder")"
cp -r "$work/guest" "$folder"
echo "$self: $folder has $release"
