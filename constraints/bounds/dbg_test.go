package bounds
import ("testing";"fmt";"time")
func TestDbg(t *testing.T){
 for _, a := range []struct{s string; n int}{{"dgx-1",1},{"dgx-1",2},{"dgx-a100",2},{"mesh:3x3",1},{"mesh:4x4",1},{"mesh:8x8",1},{"mesh:5x7",1},{"torus:5x5",1},{"mi300x",2},{"dgx-a100",8},{"hypercube:7",1},{"torus:16x16",1}} {
  st := time.Now()
  b := bound(t, resolve(t,a.s,a.n),"alltoall",0)
  fmt.Println(a.s,a.n,b.Exact,b.Proof, b.Lengths!=nil, time.Since(st))
 }
}
