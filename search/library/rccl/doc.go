// Package rccl says what RCCL would do, as a fork of NCCL: RCCL 2.21.5 on the nodes that it knows by
// their links, with a list of rings and tuning constants each (model.go, tables.go). On 8 MI300X it
// takes MSCCL files first (files.go), as programs of the same routing here. On other nodes it
// searches as NCCL does.
//
// To add what a release knows: a row of nodes (model.go) or files (files.go).
//
// Files, in an order to read them in: release.go tables.go files.go model.go
package rccl
