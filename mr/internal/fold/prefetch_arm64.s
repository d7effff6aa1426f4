#include "go_asm.h"
#include "textflag.h"

// func prefetch(slots *slot, todo *probe, n int)
TEXT ·prefetch(SB), NOSPLIT, $0-24
	MOVD slots+0(FP), R0
	MOVD todo+8(FP), R1
	MOVD n+16(FP), R2
	CBZ  R2, done

next:
	MOVWU probe_at(R1), R3
	ADD   R3<<const_slotShift, R0, R4
	PRFM  (R4), PLDL1KEEP
	ADD   $probe__size, R1
	SUB   $1, R2
	CBNZ  R2, next

done:
	RET

// func prefetchEach(at **byte, n int)
TEXT ·prefetchEach(SB), NOSPLIT, $0-16
	MOVD at+0(FP), R0
	MOVD n+8(FP), R1
	CBZ  R1, done

next:
	MOVD (R0), R2
	PRFM (R2), PLDL1KEEP
	ADD  $8, R0
	SUB  $1, R1
	CBNZ R1, next

done:
	RET
