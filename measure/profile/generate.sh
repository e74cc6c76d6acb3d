#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# Compiles the BPF programs and writes the Go bindings. The same sources and clang give the same
# bytes wherever the tree lies: paths are mapped away, and DWARF is stripped (BTF stays).
# The compiler's version is fixed, because another one makes other bytes.
set -eu
cd "$(dirname "$0")"
here=$(pwd)
clang=${STACKS_CLANG:-clang-19}
strip=${STACKS_STRIP:-llvm-strip-19}
# <asm/types.h> of the build machine; the BPF target has no headers of its own.
multiarch=$(gcc -print-multiarch 2>/dev/null || echo "$(uname -m)-linux-gnu")
GOPACKAGE=profile go run github.com/cilium/ebpf/cmd/bpf2go \
	-cc "$clang" -strip "$strip" -target bpfel -tags linux -output-stem stacks -no-global-types \
	-type stacks_key -type stacks_stack -type stacks_cpu -type stacks_clock stacks stacks.bpf.c -- \
	-O2 -mcpu=v3 -ffreestanding -Wall -Wextra -Werror \
	-ffile-prefix-map="$here"=. -fdebug-compilation-dir=. \
	-idirafter "/usr/include/$multiarch"
