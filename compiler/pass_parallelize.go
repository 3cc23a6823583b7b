package compiler

import (
	"fmt"
	"math"
)

// parallelize replicates the operations under parallelize scopes (GC3 5.1). Every
// chunk of the program is divided into L parts, where L is a common multiple of the
// products of factors along nested scopes. An operation outside any scope moves all
// parts of its chunks. Under a product of F, instance f moves the f-th of F equal,
// contiguous runs of them:
//
//	copy rank 0 in[0:2] → rank 1 sc[0:2]  under 2
//
//	copy rank 0 in[0:2] → rank 1 sc[0:2]  instance 0     L = 2: in[0:2] was chunk 0
//	copy rank 0 in[2:4] → rank 1 sc[2:4]  instance 1
//
// An aggregated reference stays one message. Its instances divide the chunks
// differently from those of a shorter reference, so an instance may depend on
// several others. Dependencies are therefore found later, part by part, and may
// cross instances.
func parallelize(prog *program) error {
	scopes := prog.in.Scopes
	product := make([]int64, max(1, len(scopes)))
	product[0] = 1
	cut := int64(1)
	for i := range scopes {
		product[i] = int64(scopes[i].Factor)
		if i > 0 {
			product[i] *= product[scopes[i].Parent]
		}
		if product[i] > math.MaxInt16 {
			return fmt.Errorf("scopes parallelized %d times: want at most %d", product[i], math.MaxInt16)
		}
		cut = cut / gcd(cut, product[i]) * product[i]
		if cut > math.MaxInt16 {
			return fmt.Errorf("chunks cut in %d parts for the scopes: want at most %d", cut, math.MaxInt16)
		}
	}
	if cut == 1 {
		return nil
	}
	widest := int64(1)
	total := 0
	for i := range prog.ops {
		f := product[prog.ops[i].scope]
		widest = max(widest, f)
		total += int(f)
	}
	if err := prog.subdivide(cut, total); err != nil {
		return err
	}
	prog.scopeInstances, prog.instances = int32(widest), int32(widest)
	ops := make([]op, 0, total)
	for _, o := range prog.ops {
		f := int32(product[o.scope])
		ops = replicate(ops, o, f, int32(cut), func(k int32) int32 { return k })
		if len(ops) > maxOps {
			return fmt.Errorf("more than %d operations", maxOps)
		}
	}
	prog.ops = ops
	return nil
}

// instances replicates the whole program, giving each instance a part of the
// chunks. Every chunk is divided into n parts, and every contiguous reference into
// n runs of parts, of which instance j moves the one that was written j-th
// (oldest_first.go). A run of a longer reference has parts of several chunks, so
// that instances depend on one another wherever references of different lengths
// meet. Of a strided reference, instance j moves part j of every chunk.
//
//	copy rank 0 in[0:2] → …       2 instances: in[0:2], in[2:4]
//	copy rank 0 in[1] → …                      in[2], in[3]
func instances(prog *program) error {
	n := int32(prog.opt.Instances)
	if n == 1 {
		return nil
	}
	if prog.opt.Instances > math.MaxInt16 {
		return fmt.Errorf("instances %d: want at most %d", prog.opt.Instances, math.MaxInt16)
	}
	total := len(prog.ops) * int(n)
	if err := prog.subdivide(int64(n), total); err != nil {
		return err
	}
	ops := make([]op, 0, total)
	runs := oldestFirst{writer: newIndexTable(prog, prog.uses(), reads|writes)}
	defer prog.pool.Give(runs.writer.entries)
	for _, o := range prog.ops {
		key, first := o.instance, len(ops)
		ops = replicate(ops, o, n, n, func(j int32) int32 { return j*prog.scopeInstances + key })
		runs.add(ops, first)
	}
	prog.ops = ops
	prog.instances = n * prog.scopeInstances
	return nil
}

// replicate appends the instances of o, as many as factor, with chunks divided
// into cut parts. An instance takes a run of the parts of a contiguous reference,
// or its parts of each chunk of a strided one:
//
//	2 instances of in[0:2]      in[0:2]  in[2:4]
//	2 instances of in[0:4:3]    in[0:7:6]  in[1:8:6]
//
// If those are several parts for each chunk of a strided reference, the
// instance becomes one operation for each part of a chunk, or one for each
// chunk, whichever is fewer.
func replicate(ops []op, o op, factor, cut int32, key func(int32) int32) []op {
	parts := cut / factor
	src, dst := o.ends()
	for k := range factor {
		o.instance = key(k)
		switch {
		case src.stride == 1 && dst.stride == 1:
			from, n := k*o.count*parts, o.count*parts
			ops = append(ops, o.part(src.off*cut+from, dst.off*cut+from, n, 1, 1))
		case parts < src.count:
			for at := k * parts; at < (k+1)*parts; at++ {
				ops = append(ops, o.part(src.off*cut+at, dst.off*cut+at, src.count, src.stride*cut, dst.stride*cut))
			}
		default:
			for n := range src.count {
				ops = append(ops, o.part(src.nth(n).off*cut+k*parts, dst.nth(n).off*cut+k*parts, parts, 1, 1))
			}
		}
	}
	return ops
}

// part returns the operation with other offsets, count and strides in the same
// buffers.
func (o op) part(srcOff, dstOff, count, srcStride, dstStride int32) op {
	o.srcOff, o.dstOff, o.count, o.srcStride, o.dstStride = srcOff, dstOff, count, srcStride, dstStride
	return o
}

// subdivide divides every chunk of the collective and of scratch into cut
// parts. It returns an error if the operations or chunks would exceed a limit.
func (prog *program) subdivide(cut int64, ops int) error {
	if ops > maxOps {
		return fmt.Errorf("%d operations after replication: want at most %d", ops, maxOps)
	}
	largest := int64(0)
	for r, n := range prog.scratch {
		largest = max(largest, int64(n), int64(prog.col.InChunks(r)), int64(prog.col.OutChunks(r)))
	}
	if largest*cut > math.MaxInt32 {
		return fmt.Errorf("%d chunks cut in %d: want at most %d", largest, cut, math.MaxInt32)
	}
	prog.col = prog.col.Times(int(cut))
	for r := range prog.scratch {
		prog.scratch[r] *= int32(cut)
	}
	return nil
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
