//go:build !race

#include "textflag.h"

// A vector loop goes through n bytes, a multiple of 64, four registers of 16 at
// a time: what every amd64 has.
#define VECTOR(name, combine) \
TEXT name(SB), NOSPLIT, $0-32 \
	MOVQ dst+0(FP), DI   \
	MOVQ a+8(FP), SI     \
	MOVQ b+16(FP), DX    \
	MOVQ n+24(FP), CX    \
	XORQ AX, AX          \
	JMP  check           \
more:                        \
	MOVUPS (SI)(AX*1), X0   \
	MOVUPS 16(SI)(AX*1), X1 \
	MOVUPS 32(SI)(AX*1), X2 \
	MOVUPS 48(SI)(AX*1), X3 \
	MOVUPS (DX)(AX*1), X4   \
	MOVUPS 16(DX)(AX*1), X5 \
	MOVUPS 32(DX)(AX*1), X6 \
	MOVUPS 48(DX)(AX*1), X7 \
	combine X4, X0          \
	combine X5, X1          \
	combine X6, X2          \
	combine X7, X3          \
	MOVUPS X0, (DI)(AX*1)   \
	MOVUPS X1, 16(DI)(AX*1) \
	MOVUPS X2, 32(DI)(AX*1) \
	MOVUPS X3, 48(DI)(AX*1) \
	ADDQ $64, AX            \
check:                       \
	CMPQ AX, CX          \
	JLT  more            \
	RET

VECTOR(·addF32, ADDPS)
VECTOR(·addF64, ADDPD)
VECTOR(·add8, PADDB)
VECTOR(·add32, PADDL)
VECTOR(·add64, PADDQ)
VECTOR(·multiplyF32, MULPS)
VECTOR(·multiplyF64, MULPD)
