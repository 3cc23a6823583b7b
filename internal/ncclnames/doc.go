// Package ncclnames has names of NCCL's that both its executor and the files for its users
// need: those of its symmetric kernels.
//
// Files: ncclnames.go
package ncclnames
