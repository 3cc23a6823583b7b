// Package tuning writes the files by which libraries and frameworks choose what to run for a
// call.
//
//	rules: collective, ranks, sizes ▸ library, kernel, protocol, channels
//	  │
//	  └──Write──▶ nccl-tuner-csv · rccl-conf · ncclx-csv · ncclx-json · nccl-sym-env
//	              mscclpp-tuning · vllm · sglang · mcr-dl · json
//
// What a format can't say is refused by Lacks, or told by Write. Package tuningtest reads the
// files as the libraries do, so that tests hold what is written to it.
//
// Sizes are as nccl-tests counts them: the buffer of an all-reduce, count × ranks of an
// all-gather. Each format has its own, and converts.
//
// Invariant: equal rules give equal bytes.
//
// Files, in an order to read them in: rule.go format.go lines.go nccl.go left.go rccl.go ncclx.go symmetric.go
// mscclpp.go vllm.go sglang.go mcrdl.go document.go
package tuning
