// Package tuning writes the files by which libraries and frameworks choose what to run for a
// call, and reads them as these do.
//
//	rules: collective, ranks, sizes ▸ library, kernel, protocol, channels
//	  │
//	  ├──Write──▶ nccl-tuner-csv · rccl-conf · ncclx-csv · ncclx-json · nccl-sym-env
//	  │           mscclpp-tuning · vllm · sglang · mcr-dl · json
//	  └───────── Choose(call, size) ◀──Read───────┘
//
// A reader answers as the library that loads the file would: which entry wins, at which byte
// a range ends, for which ranks, and what happens where no entry matches. It does no more: it
// knows nothing of the rules. What a format can't say is refused by Lacks, or told by Write.
//
// Sizes are as nccl-tests counts them: the buffer of an all-reduce, count × ranks of an
// all-gather. Each format has its own, and converts.
//
// Invariants: equal rules give equal bytes; reading is bounded, and an error names file and
// line.
//
// Files, in an order to read them in: rule.go format.go lines.go nccl.go left.go rccl.go ncclx.go symmetric.go
// mscclpp.go vllm.go sglang.go mcrdl.go document.go
package tuning
