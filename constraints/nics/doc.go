// Package nics chooses, for each GPU, the GPUs through which its data leave and enter a
// node, where not every GPU has a NIC of its own. Check judges a choice by the topology
// alone.
package nics
