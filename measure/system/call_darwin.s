#include "textflag.h"

TEXT hostProcessorInfo<>(SB), NOSPLIT, $0-0
	JMP libc_host_processor_info(SB)

GLOBL ·trampolineProcessorInfo(SB), RODATA, $8
DATA ·trampolineProcessorInfo(SB)/8, $hostProcessorInfo<>(SB)

TEXT machHostSelf<>(SB), NOSPLIT, $0-0
	JMP libc_mach_host_self(SB)

GLOBL ·trampolineHostSelf(SB), RODATA, $8
DATA ·trampolineHostSelf(SB)/8, $machHostSelf<>(SB)

TEXT taskSelfTrap<>(SB), NOSPLIT, $0-0
	JMP libc_task_self_trap(SB)

GLOBL ·trampolineTaskSelf(SB), RODATA, $8
DATA ·trampolineTaskSelf(SB)/8, $taskSelfTrap<>(SB)

TEXT vmDeallocate<>(SB), NOSPLIT, $0-0
	JMP libc_vm_deallocate(SB)

GLOBL ·trampolineDeallocate(SB), RODATA, $8
DATA ·trampolineDeallocate(SB)/8, $vmDeallocate<>(SB)
