// Package export writes a campaign's winners in the formats that runtimes load, and
// decides which file serves which sizes where a runtime loads few.
//
//	table's measurements ──that the runtime would run──▶ offers ──Cover──▶ files ──Write──▶ msccl-xml · mscclpp-json ·
//	                                                                                      nccl-tuner-csv · ir · mcr-dl
//
// Cover chooses the files: package autotune measures until its choice is settled, and an
// export makes the same choice. Invariants: equal campaigns give equal bytes; nothing is
// exported that was not measured; files of others are never touched. Of a map, each number of
// nodes has a folder of its own (map.go).
package export
