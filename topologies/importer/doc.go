// Package importer makes topology files of what machines say about themselves:
// NCCL's and RCCL's topology dumps (XML), nvidia-smi topo -m, and rocm-smi
// --showtopo.
//
//	<gpu …><nvlink target="0000:43:00.0" …     ─┐
//	GPU0   X   NV12  NV12  …                    ├─▶ machine ─▶ TOML ─▶ topologies.Read
//	GPU0   0   XGMI  XGMI  …                   ─┘      ▲
//	                                           models: what a GPU is known to have
//
// Invariants: what comes out reads back, or nothing comes out; a number that
// the text does not have is marked as inferred in the file's source, and noted;
// what can be neither read nor inferred is asked for, with the flag to give it.
// No text makes it panic or take more memory than a small multiple of its size.
//
// It runs no program and asks no device.
package importer
