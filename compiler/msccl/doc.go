// Package msccl reads, writes and checks MSCCL's algorithm files, in the
// dialects of the three runtimes that load them.
//
//	ir.Program ──Lower──▶ File ──Write──▶ XML ──Read──▶ File ──Program──▶ ir.Program
//	                        │
//	                        ├─ Accepts: would this runtime load it, and use it?
//	                        ├─ Lint: warnings for a user who installs the file
//	                        └─ Verify: both, and the program itself
//
// A File is the XML tree, attribute by attribute, before interpretation:
//
//	<algo name="ring" ngpus="2" nchunksperloop="2" nchannels="1" proto="LL" coll="allreduce" …>
//	  <gpu id="0" i_chunks="2" o_chunks="0" s_chunks="0">
//	    <tb id="0" send="1" recv="1" chan="0">
//	      <step s="0" type="s" srcbuf="i" srcoff="0" dstbuf="i" dstoff="0" cnt="1" depid="-1" deps="-1" hasdep="0"/>
//
// A step has one dependency; further ones are in nop steps before it, which
// Lower adds and Program removes. A program that is lowered, written and read
// back is the same program (GC3 section 5, Figure 4).
//
// Invariants: output is a function of the program and the options, byte for
// byte; a reader's memory is bounded by the file's size, which is limited; differences
// between runtimes are in the table runtimes and in rules, nowhere else.
//
// It does not choose programs for sizes: package results does.
package msccl
