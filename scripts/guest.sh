# What kernels.sh, pci.sh, cgroup2.sh, bonding.sh and nicqueues.sh have in common, who source it: Go tests in a guest with a kernel of Debian's,
# emulated by QEMU: needs no KVM, no image and no compiler in the guest. Everything is made in a folder
# that ends with the script.
#
#   guest_options "-NAME..." ARGUMENTS  sets variables of those names, or says how the script is used
#   guest_begin              makes $root, the guest's files, and checks that the tools are here
#   guest_kernel KERNEL      a package (its name or a file), or a version, of which the newest that apt knows is taken
#   guest_tests FOLDER...    the tests of packages, with the build tags $tags, in $root/tests
#   guest_carry FILE...      programs and libraries as they lie here, and the libraries that they load
#   $root/before             what the guest does before its tests, if it is there; $where they run, if not in /tests
#   guest_boot MINUTES MODULES ENVIRONMENT TEST-FLAGS QEMU-ARGUMENTS...
#                            by the accelerator $accelerator; a guest on one whose clock counts instructions has time
#                            enough, however busy this machine is
self=$(basename "$0" .sh)
export DEBIAN_FRONTEND=noninteractive

# Without what it takes, no test has run.
guest_lacks() {
	echo "$self.sh: $1" >&2
	exit 3
}

guest_options() { # "-NAME..." ARGUMENTS: sets the variables NAME
	local names=$1
	shift
	while [ $# -gt 0 ]; do
		[ $# -ge 2 ] && [[ " $names " == *" $1 "* ]] || usage
		printf -v "${1#-}" %s "$2"
		shift 2
	done
}

guest_end() {
	[ -z "$qemu" ] || kill "$qemu" 2>/dev/null || true
	rm -rf "$work"
}

guest_begin() {
	qemu= tests=() tags= accelerator=tcg,thread=multi
	work=$(mktemp -d)
	trap guest_end EXIT
	trap 'exit 130' INT
	trap 'exit 143' TERM
	local tool
	for tool in qemu-system-x86_64:qemu-system-x86 xz:xz-utils dpkg-deb:dpkg apt-get:apt; do
		command -v "${tool%:*}" >/dev/null || guest_lacks "${tool%:*} is missing: install Debian's ${tool#*:}"
	done
	root=$work/root
	mkdir -p "$root"/{bin,dev,proc,sys,tmp,run,etc,mnt,tests}
}

# A package's files, below a folder.
unpack() { # PACKAGE|FILE FOLDER
	local file=$1
	if [ ! -f "$file" ]; then
		mkdir -p "$work/packages"
		(cd "$work/packages" && apt-get download -qq "$1" 2>/dev/null) ||
			guest_lacks "apt-get could not download $1; run apt-get update, or name a file"
		file=$(ls "$work/packages/$1"_*.deb)
	fi
	dpkg-deb -x "$file" "$2"
}

newest() { # the newest generic kernel of a version
	apt-cache search --names-only "^linux-image-${1//./\\.}[.-][^ ]*-amd64\$" | awk '{print $1}' |
		grep -vE -- '-(rt|cloud|dbg|unsigned)' | sort -V | tail -n 1
}

guest_kernel() {
	local kernel=$1
	if [ ! -f "$kernel" ] && [[ $kernel != linux-image-* ]]; then
		kernel=$(newest "$1")
		[ -n "$kernel" ] || guest_lacks "apt knows no kernel $1; run apt-get update"
	fi
	echo "$self: unpacking $kernel"
	unpack "$kernel" "$work/kernel"
	unpack busybox-static "$work/busybox"
	busybox=$work/busybox/bin/busybox
	cp "$busybox" "$root/bin/busybox"
	# Debian's packages leave depmod to the installation.
	tree=$(echo "$work"/kernel/lib/modules/*)
	release=$(basename "$tree")
	rm -rf "$tree"/kernel/{sound,drivers/{gpu,media,scsi,usb,staging,infiniband,iio,hwmon,input,net/wireless}}
	find "$tree"/kernel/fs -mindepth 1 -maxdepth 1 ! -name overlayfs -exec rm -r {} +
	find "$tree"/kernel/drivers/net/ethernet -mindepth 1 -maxdepth 1 ! -name intel -exec rm -r {} +
	find "$tree" -name '*.ko.xz' -print0 | xargs -0 --no-run-if-empty -n 64 xz -d
	"$busybox" depmod -b "$work/kernel" "$release"
}

guest_tests() {
	local folder
	for folder; do
		CGO_ENABLED=0 go test -c -tags "$tags" -o "$root/tests/$(basename "$folder").test" "$folder"
		tests+=("$(basename "$folder")")
	done
}

guest_carry() { # FILE...
	local file library
	mkdir -p "$root"/usr/lib{,64}
	[ -L "$root/lib" ] || ln -s usr/lib "$root/lib"
	[ -L "$root/lib64" ] || ln -s usr/lib64 "$root/lib64"
	for file; do
		carry "$file"
	done
	for library in $(ldd "$@" 2>/dev/null | grep -oE '/[^ :]+\.so[^ :]*' | sort -u); do
		carry "$(realpath -s "$(realpath "$(dirname "$library")")/$(basename "$library")")"
	done
}

carry() { # FILE, and what it is a link to
	local file=$1
	while mkdir -p "$root$(dirname "$file")" && cp -a "$file" "$root$file" && [ -L "$file" ]; do
		file=$(cd "$(dirname "$file")" && realpath -s "$(readlink "$file")")
	done
}

closure() { # a module's file and those of all that it needs
	awk -v "name=$1" -F: '{ f = $1; sub(/.*\//, "", f); sub(/\.ko$/, "", f); gsub(/-/, "_", f) } f == name { print $1 $2 }' "$tree/modules.dep"
}

guest_modules() {
	local module file
	for module; do
		for file in $(closure "$module"); do
			mkdir -p "$root/lib/modules/$release/$(dirname "$file")"
			cp "$tree/$file" "$root/lib/modules/$release/$file"
		done
	done
	"$busybox" depmod -b "$root" "$release"
}

# The guest's first process: what a machine has, the tests, and off.
guest_init() { # MODULES ENVIRONMENT TEST-FLAGS
	cat >"$root/init" <<INIT
#!/bin/busybox sh
if [ "\$0" = /init ]; then
	# Containers are given a root in the place of this one: of the first one that is not possible (pivot_root(2)).
	/bin/busybox mount --bind / /mnt
	cd /mnt
	/bin/busybox mount --move . /
	exec /bin/busybox chroot . /bin/busybox sh /start # not by a name of a container's first process
fi
/bin/busybox --install -s /bin
export PATH=/bin HOME=/tmp $2
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mount -t bpf bpf /sys/fs/bpf
ln -s /proc/self/fd /dev/fd
for m in $(echo $1); do modprobe \$m 2>/dev/null || echo "guest: no module \$m"; done
ip link set lo up
[ ! -e /before ] || . /before
echo "guest: Linux \$(uname -r)"
set -o pipefail
code=0
for p in ${tests[*]}; do
	echo "guest: tests of \$p"
	cd "\${where:-/tests}" && /tests/\$p.test -test.v $3 2>&1 |
		grep -vE '^ *(=== |--- PASS: .*/)' || code=1
done
echo "guest: ended with \$code"
sync
poweroff -f
INIT
	chmod +x "$root/init"
	cp "$root/init" "$root/start"
}

guest_boot() {
	local minutes=$1
	guest_modules $2
	guest_init "$2" "$3" "$4 -test.timeout ${minutes}m"
	shift 4
	(cd "$root" && find . | "$busybox" cpio -o -H newc 2>/dev/null) | gzip -1 >"$work/initramfs"
	echo "$self: booting $release, for at most $minutes minutes"
	: >"$work/log"
	timeout -k 10 "${minutes}m" qemu-system-x86_64 -machine q35 -accel "$accelerator" -cpu max -smp 2 \
		-nodefaults -display none -no-reboot -serial stdio -kernel "$work/kernel/boot/vmlinuz-$release" \
		-initrd "$work/initramfs" "$@" </dev/null >"$work/log" 2>&1 &
	qemu=$!
	tail -n +1 --pid="$qemu" -f "$work/log" | sed -u -e 's,\r,,' -e '/warning: hub .* not connected/d' &
	wait # in vain if a signal comes, which then ends the guest
	qemu=
	case $(tr -d '\r' <"$work/log" | sed -n 's/^guest: ended with //p') in
	0) echo "$self: $release passed" ;;
	1) echo "$self: $release failed" >&2; exit 1 ;;
	*) echo "$self: $release did not come to an end within $minutes minutes" >&2; exit 1 ;;
	esac
}
