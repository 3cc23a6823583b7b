package msccl_test

import (
	"fmt"
	"os"

	"github.com/colltune/colltune/compiler/ir/irtest"
	"github.com/colltune/colltune/compiler/msccl"
)

// A ring's allreduce as a file for MSCCL's runtime.
func ExampleWrite() {
	p := irtest.Ring(2, 1, 0, true)
	err := msccl.Write(os.Stdout, p, msccl.WriteOptions{Runtime: "msccl", Protocol: "LL", Name: "ring"})
	if err != nil {
		fmt.Println(err)
	}
	ok, why := msccl.Accepts(p, "msccl", "LL")
	fmt.Println(ok, why)
	// Output:
	// <algo name="ring" proto="LL" nchannels="1" nchunksperloop="2" ngpus="2" coll="allreduce" inplace="1" minBytes="0" maxBytes="9223372036854775807">
	//   <gpu id="0" i_chunks="2" o_chunks="0" s_chunks="0">
	//     <tb id="0" send="1" recv="1" chan="0">
	//       <step s="0" type="s" srcbuf="i" srcoff="0" dstbuf="i" dstoff="0" cnt="1" depid="-1" deps="-1" hasdep="0"/>
	//       <step s="1" type="rrcs" srcbuf="i" srcoff="1" dstbuf="i" dstoff="1" cnt="1" depid="-1" deps="-1" hasdep="0"/>
	//       <step s="2" type="r" srcbuf="i" srcoff="0" dstbuf="i" dstoff="0" cnt="1" depid="-1" deps="-1" hasdep="0"/>
	//     </tb>
	//   </gpu>
	//   <gpu id="1" i_chunks="2" o_chunks="0" s_chunks="0">
	//     <tb id="0" send="0" recv="0" chan="0">
	//       <step s="0" type="s" srcbuf="i" srcoff="1" dstbuf="i" dstoff="1" cnt="1" depid="-1" deps="-1" hasdep="0"/>
	//       <step s="1" type="rrcs" srcbuf="i" srcoff="0" dstbuf="i" dstoff="0" cnt="1" depid="-1" deps="-1" hasdep="0"/>
	//       <step s="2" type="r" srcbuf="i" srcoff="1" dstbuf="i" dstoff="1" cnt="1" depid="-1" deps="-1" hasdep="0"/>
	//     </tb>
	//   </gpu>
	// </algo>
	// true []
}
