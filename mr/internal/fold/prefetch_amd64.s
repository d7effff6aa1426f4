#include "go_asm.h"
#include "textflag.h"

// func prefetch(slots *slot, todo *probe, n int)
TEXT ·prefetch(SB), NOSPLIT, $0-24
	MOVQ slots+0(FP), AX
	MOVQ todo+8(FP), BX
	MOVQ n+16(FP), CX
	JMP  test

next:
	MOVL       probe_at(BX), DX
	SHLQ       $const_slotShift, DX
	PREFETCHT0 (AX)(DX*1)
	ADDQ       $probe__size, BX
	DECQ       CX

test:
	TESTQ CX, CX
	JNE   next
	RET
