#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# Compiles the BPF programs and writes the Go bindings. The same sources and clang give the same
# bytes wherever the tree lies: paths are mapped away, and DWARF is stripped (BTF stays).
# The compiler's version is fixed, because another one makes other bytes.
set -eu
cd "$(dirname "$0")"
here=$(pwd)
clang=${VR_CLANG:-clang-19}
strip=${VR_STRIP:-llvm-strip-19}
# <asm/types.h> of the build machine; the BPF target has no headers of its own.
multiarch=$(gcc -print-multiarch 2>/dev/null || echo "$(uname -m)-linux-gnu")
object() { # the program's name and source, and what types of it Go shares
	GOPACKAGE=kernel go run github.com/cilium/ebpf/cmd/bpf2go \
		-cc "$clang" -strip "$strip" -target bpfel -output-stem "$1" -no-global-types $3 \
		"$1" "$2" -- \
		-O2 -mcpu=v3 -ffreestanding -Wall -Wextra -Werror -Wno-unused-parameter \
		-ffile-prefix-map="$here"=. -fdebug-compilation-dir=. \
		-idirafter "/usr/include/$multiarch"
}
object vr vr_tc.bpf.c ''
object fast vr_fast.bpf.c '-type vr_fast_count'
object trace vr_trace.bpf.c '-type vr_trace_log -type vr_trace_filter'
go run ../core/generate -object vr_bpfel.o -headers ../core -out ../core/records_generated.go
