// Package importer converts descriptions of machines to topology files: NCCL's
// and RCCL's topology dumps (XML), and the output of nvidia-smi topo -m and
// rocm-smi --showtopo.
//
//	<gpu …><nvlink target="0000:43:00.0" …     ─┐
//	GPU0   X   NV12  NV12  …                    ├─▶ machine ─▶ TOML ─▶ topologies.Read
//	GPU0   0   XGMI  XGMI  …                   ─┘      ▲
//	                                           models: properties of GPU models
//
// Invariants: the result is a valid topology file, or there is an error; a
// number that the text lacks is marked as inferred in the file's source, and
// noted; if it cannot be inferred, the error names the flag that supplies it.
// No text makes it panic or take more memory than a small multiple of its size.
//
// It runs no program and queries no device.
package importer
