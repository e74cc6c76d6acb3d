//go:build e2e

package e2e

import (
	"bytes"
	"encoding/binary"
)

// Wine 8, which Debian 12 has, lacks bcryptprimitives.dll, from which the Go
// runtime takes its random numbers (runtime/os_windows.go; Windows has it since
// version 8). Its ProcessPrng(buffer, length) is the older RtlGenRandom with the
// same arguments, which advapi32 exports as SystemFunction036. So a library
// without any code, whose one export is a forwarder, is enough.

// forwarder is a PE32+ library (Microsoft's "PE Format") that exports one name,
// which is another library's.
func forwarder(library, name, target string) []byte {
	const (
		address    = 0x1000 // of the only section, once loaded
		alignment  = 0x200  // of the file
		directory  = 40     // bytes of an export directory
		tables     = 4 + 4 + 4
		machine    = 0x8664 // AMD64
		traits     = 0x2022 // executable, large addresses, DLL
		readable   = 0x40000040
		optionsLen = 240
	)
	texts := directory + tables
	libraryAt := uint32(address + texts)
	nameAt := libraryAt + uint32(len(library)) + 1
	targetAt := nameAt + uint32(len(name)) + 1
	export := pack(
		uint32(0), uint32(0), uint32(0), libraryAt, uint32(1), // flags, time, version, name, base of ordinals
		uint32(1), uint32(1), // addresses, names
		uint32(address+directory), uint32(address+directory+4), uint32(address+directory+8),
		targetAt, nameAt, uint32(0), // the three tables; an address inside the directory is a forwarder
		[]byte(library+"\x00"+name+"\x00"+target+"\x00"),
	)
	header := pack(
		[]byte("MZ"), make([]byte, 58), uint32(64), // where the next line lies
		[]byte("PE\x00\x00"), uint16(machine), uint16(1), uint32(0), uint32(0), uint32(0), uint16(optionsLen), uint16(traits),
		uint16(0x20b), uint16(0), uint32(0), uint32(alignment), uint32(0), uint32(0), uint32(0), // no code, no entry
		uint64(0x180000000), uint32(address), uint32(alignment),
		uint16(6), uint16(0), uint16(0), uint16(0), uint16(6), uint16(0), uint32(0), // versions
		uint32(2*address), uint32(alignment), uint32(0), uint16(2), uint16(0x100), // sizes, checksum, subsystem, no-execute
		uint64(1<<20), uint64(1<<12), uint64(1<<20), uint64(1<<12), uint32(0), uint32(16),
		uint32(address), uint32(len(export)), make([]byte, 15*8), // directories: exports, and no other
		[]byte(".edata\x00\x00"), uint32(len(export)), uint32(address), uint32(alignment), uint32(alignment),
		make([]byte, 12), uint32(readable),
	)
	image := make([]byte, 2*alignment)
	copy(image, header)
	copy(image[alignment:], export)
	return image
}

// pack lays values out in little endian.
func pack(values ...any) []byte {
	var b bytes.Buffer
	for _, v := range values {
		if err := binary.Write(&b, binary.LittleEndian, v); err != nil {
			panic(err) // a value without a fixed size: a mistake in this file
		}
	}
	return b.Bytes()
}
