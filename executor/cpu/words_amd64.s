//go:build !race

#include "textflag.h"

// func storeWords(words *uint64, data *byte, mark uint64, n int)
//
// Each word is one store of eight bytes, which no other core ever sees half of.
TEXT ·storeWords(SB), NOSPLIT, $0-32
	MOVQ words+0(FP), DI
	MOVQ data+8(FP), SI
	MOVQ mark+16(FP), DX
	MOVQ n+24(FP), CX
	XORQ AX, AX
	JMP  check

more:
	MOVL (SI)(AX*4), BX
	ORQ  DX, BX
	MOVQ BX, (DI)(AX*8)
	INCQ AX

check:
	CMPQ AX, CX
	JLT  more
	RET
