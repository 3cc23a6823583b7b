// Package rccl says what RCCL would do, as a fork of NCCL, by release (release.go).
//
//	call ─▶ direct access to peers' buffers, MSCCL files (files.go), hierarchies, sends and receives: the
//	first that serves it (before.go) ─▶ rings and trees, as AMD's tuner rows say (tuner.go), or else by
//	RCCL's model of the nodes that it knows by their links (model.go, tables.go)
//
// MSCCL files are programs of the same routing here. Direct access and hierarchies are no program here and have no time but a
// published one: what RCCL runs is then known, and not how long it takes.
//
// On nodes that RCCL does not know it searches as NCCL does. Rings and trees go by the tables of 2.21.5, and over nodes of MI300X
// and MI355X by later ones.
//
// Invariants: a choice depends on the release, the topology and the call alone. Calls are alone and settings those of RCCL itself,
// with which neither copy engines nor kernels on windows take any.
//
// To add a release: a row of releases. To add what one knows: a row of nodes or files, or a rule of Before.
//
// Files, in an order to read them in: release.go tables.go files.go tuner.go model.go before.go
package rccl
