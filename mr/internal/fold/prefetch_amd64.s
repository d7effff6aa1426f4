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

// func prefetchEach(at **byte, n int)
TEXT ·prefetchEach(SB), NOSPLIT, $0-16
	MOVQ at+0(FP), AX
	MOVQ n+8(FP), CX
	JMP  test

next:
	MOVQ       (AX), DX
	PREFETCHT0 (DX)
	ADDQ       $8, AX
	DECQ       CX

test:
	TESTQ CX, CX
	JNE   next
	RET
