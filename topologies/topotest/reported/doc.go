// Package reported has machines that users asked about in public, as what nvidia-smi topo -m
// prints there, made anew.
//
//	v100x4-two-links        six rings, of which no three share no link
//	a100-pcie-pairs         NVLink in pairs, processors between them
//	a10g-one-processor      what a virtual machine shows of eight GPUs
//	h100-nics-at-even-gpus  GPUs without a NIC that is near
//	h100-nics-in-pairs      the same machine, if NICs were as near to both of a pair
//
// Only tests import this package.
package reported
