#!/usr/bin/env bash
# Builds what runs on DPDK: bin/vrouter-poll, the vRouter's poll mode, and bin/frame-poll, which sends
# and counts frames at its ports. With --install it first installs what they need and is missing; else
# it says so and gives the exit code 77. For tests it builds one other program:
#   poll.sh sanitized   bin/vrouter-poll-sanitized: the same under the address and undefined sanitizers
#   poll.sh stand       bin/vrouter-poll-stand: what forwards, between ports that are no devices
#   poll.sh switch      bin/vrouter-poll-switch: a NIC's embedded switch, a library for vrouter-poll
#   poll.sh load        bin/frame-load: what `make bench-poll` sends and counts with
#   poll.sh fuzz        bin/vrouter-poll-fuzz: the same with libFuzzer and the sanitizers
set -euo pipefail
cd "$(dirname "$0")/.."
install=
[ "${1:-}" = --install ] && install=yes && shift
what=${1:-}
missing=()
need() { command -v "$1" >/dev/null 2>&1 || missing+=("$2"); }
need cc gcc
need meson meson
need ninja ninja-build
need pkg-config pkg-config
pkg-config --exists 'libdpdk >= 22.11' 2>/dev/null || missing+=(libdpdk-dev)
if [ ${#missing[@]} -ne 0 ]; then
	if [ -z "$install" ] || ! command -v apt-get >/dev/null || [ "$(id -u)" != 0 ]; then
		echo "vrouter-poll and frame-poll need ${missing[*]}; \`make poll\` as root installs them on Debian" >&2
		exit 77
	fi
	echo "installing ${missing[*]}"
	export DEBIAN_FRONTEND=noninteractive
	apt-get update -qq || true
	apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
fi
# build PROGRAM SOURCES FOLDER TARGET SETUP...
build() {
	local program=$1 sources=$2 folder=$3 target=$4
	mkdir -p "$folder"
	exec 9>"$folder/lock" # tests of several packages build it at once
	flock 9
	[ -e "$folder/build.ninja" ] || meson setup "$folder" "$sources" "${@:5}" >"$folder/setup.log" || {
		cat "$folder/setup.log" >&2
		exit 1
	}
	ninja -C "$folder" "$target" >"$folder/build.log" || {
		cat "$folder/build.log" >&2
		exit 1
	}
	if ! cmp -s "$folder/$target" "bin/$program"; then
		cp "$folder/$target" "bin/$program.new"
		mv "bin/$program.new" "bin/$program" # one that runs goes on
	fi
	exec 9>&-
}
# With clang the sanitizers are one, and write to one file; it warns of more, which is no matter here.
sanitize=(--buildtype=debugoptimized -Db_lto=false -Db_sanitize=address,undefined -Db_lundef=false -Dwerror=false -Dc_args=-fno-sanitize-recover=all)
case $what in
'')
	build vrouter-poll vrouter/poll bin/poll vrouter-poll
	build frame-poll traffic/frame/dpdk bin/frame frame-poll
	;;
sanitized)
	command -v clang-19 >/dev/null && export CC=clang-19
	build vrouter-poll-sanitized vrouter/poll bin/poll-sanitized vrouter-poll "${sanitize[@]}"
	;;
stand) build vrouter-poll-stand vrouter/poll bin/poll stand ;;
switch) build vrouter-poll-switch vrouter/poll bin/poll embedded_switch.so ;;
load) build frame-load bench/poll/load bin/load frame-load ;;
fuzz)
	if ! echo 'int LLVMFuzzerTestOneInput(void) { return 0; }' | clang-19 -fsanitize=fuzzer -x c -o /dev/null - 2>/dev/null; then
		echo "needs clang with libFuzzer (Debian: apt-get install clang-19 libclang-rt-19-dev)" >&2
		exit 77
	fi
	export CC=clang-19
	build vrouter-poll-fuzz vrouter/poll bin/poll-sanitized fuzz "${sanitize[@]}"
	;;
*)
	echo "poll.sh: there is no program \"$what\": use sanitized, stand, switch, load or fuzz, or nothing for the process itself" >&2
	exit 2
	;;
esac
