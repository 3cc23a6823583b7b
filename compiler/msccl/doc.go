// Package msccl reads, writes and judges MSCCL's algorithm files, in the
// dialects of the three runtimes that load them.
//
//	ir.Program ──Lower──▶ File ──Write──▶ XML ──Read──▶ File ──Program──▶ ir.Program
//	                        │
//	                        ├─ Accepts: would this runtime load it, and use it?
//	                        ├─ Lint: what should be known before it is copied there
//	                        └─ Verify: all of it, and the program itself
//
// A File is the tree as written, attribute by attribute, before any of it is
// given a meaning:
//
//	<algo name="ring" ngpus="2" nchunksperloop="2" nchannels="1" proto="LL" coll="allreduce" …>
//	  <gpu id="0" i_chunks="2" o_chunks="0" s_chunks="0">
//	    <tb id="0" send="1" recv="1" chan="0">
//	      <step s="0" type="s" srcbuf="i" srcoff="0" dstbuf="i" dstoff="0" cnt="1" depid="-1" deps="-1" hasdep="0"/>
//
// A step has room for one dependency; further ones stand in nop steps before
// it, which Lower makes and Program folds. What is lowered, written, read and
// folded again is the same program (GC3 section 5, Figure 4).
//
// Invariants: output is a function of the program and the options, byte for
// byte; a reader's memory is bounded by the file's size and Limits; what the
// runtimes differ in is in the table runtimes and in rules, nowhere else.
//
// It does not choose programs for sizes: package results does.
package msccl
