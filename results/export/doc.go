// Package export writes a campaign's winners in the formats that runtimes load, and
// decides which file serves which sizes where a runtime loads few.
//
//	table's measurements ──what the runtime would run──▶ offers ──Cover──▶ files ──Write──▶ msccl-xml · mscclpp-json ·
//	                                                                                      nccl-tuner-csv · ir · mcr-dl · t4
//
// Cover is the one choice of files: package autotune measures until it is settled, and
// an export then takes it. Invariants: equal campaigns give equal bytes; nothing is
// exported that was not measured; a file of another's is never touched.
package export
