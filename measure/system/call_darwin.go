package system

import (
	"syscall"
	_ "unsafe" // for linkname
)

// macOS has these in its C library alone, which is called without cgo as golang.org/x/sys/unix does it: by stubs
// that the dynamic linker fills in, through a function of the standard library's that is kept for that.

//go:cgo_import_dynamic libc_host_processor_info host_processor_info "/usr/lib/libSystem.B.dylib"
//go:cgo_import_dynamic libc_mach_host_self mach_host_self "/usr/lib/libSystem.B.dylib"
//go:cgo_import_dynamic libc_task_self_trap task_self_trap "/usr/lib/libSystem.B.dylib"
//go:cgo_import_dynamic libc_vm_deallocate vm_deallocate "/usr/lib/libSystem.B.dylib"

// The stubs' addresses, call_darwin.s.
var trampolineProcessorInfo, trampolineHostSelf, trampolineTaskSelf, trampolineDeallocate uintptr

//go:linkname syscall6 syscall.syscall6
func syscall6(function, a1, a2, a3, a4, a5, a6 uintptr) (r1, r2 uintptr, err syscall.Errno)

//go:uintptrescapes

// call calls a function of Mach's, which return what went wrong and set no errno.
func call(function, a1, a2, a3, a4, a5 uintptr) uintptr {
	r, _, _ := syscall6(function, a1, a2, a3, a4, a5, 0)
	return r
}
