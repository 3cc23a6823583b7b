package search

import (
	"slices"
	"strings"
	"testing"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/executor/measured"
	"github.com/colltune/colltune/results"
	"github.com/colltune/colltune/search/libraries"
	"github.com/colltune/colltune/topologies/topotest"
)

// given are the rows of a CSV file.
func given(t *testing.T, text string) GivenLibrary {
	t.Helper()
	source, err := measured.ParseSource("t.csv")
	if err != nil {
		t.Fatal(err)
	}
	rows, _, err := measured.Read(source, []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	table, _ := libraries.Build(rows, libraries.DefaultEqual)
	return GivenLibrary{"t.csv", table}
}

// The fastest row of each library of one version stands at its size and placement; what is
// stale, and where measured times meet simulated ones, is told.
func TestLibrariesGiven(t *testing.T) {
	top := topotest.Resolve(t, "ring:4", 0)
	p := Problem{Topology: top, Call: collective.Call{Collective: "allreduce", Op: "sum", DType: "f32"}, Both: true, InPlace: true, Sizes: []int64{1024, 4096}}
	l := given(t, `collective,ranks,bytes,dtype,placement,library,version,kernel,evidence,time_us
allreduce,4,1024,f32,in,nccl,2.28.9,ring,,9
allreduce,4,1024,f32,in,nccl,2.28.9,tree,,8
allreduce,4,1024,f32,in,nccl,2.29.2,ring,,7
allreduce,4,1024,f32,,ours,,,simulated,5
allreduce,4,2048,f32,,ours,,,simulated,5
`)
	points := []results.Point{{Bytes: 1024, Placement: "in"}, {Bytes: 1024, Placement: "out"}, {Bytes: 4096, Placement: "in"}}
	for _, c := range []struct {
		executor string
		versions map[string]string
		want     []string // of notices, parts
	}{
		{"sim", nil, []string{"the times of nccl 2.28.9, nccl 2.29.2 were measured, and those of programs are simulated"}},
		{"nccl", map[string]string{"nccl": "2.29.2"}, []string{"the times of ours are simulated, and those of programs are measured", "the times of nccl 2.28.9 are stale: the executor has nccl 2.29.2"}},
	} {
		var notices []string
		o := Options{Executor: c.executor, Libraries: []GivenLibrary{l}, Capabilities: &Capabilities{Name: c.executor, Versions: c.versions}}
		o.Observer.Notice = func(s string) { notices = append(notices, s) }
		at := slices.Clone(points)
		if err := o.addLibraries(at, &p); err != nil {
			t.Fatal(err)
		}
		baselines, err := o.given(&p)
		if err != nil {
			t.Fatal(err)
		}
		compared := (&Space{}).tallyPoints(&p, &o, baselines, nil)
		if c.executor == "sim" {
			registeredRows(t, p)
		}
		if len(notices) != len(c.want) {
			t.Errorf("%s: notices %q", c.executor, notices)
		}
		for i, want := range c.want {
			if i >= len(notices) || !strings.Contains(notices[i], want) {
				t.Errorf("%s: notices %q, want %q", c.executor, notices, want)
			}
		}
		var in []string
		for _, x := range at[0].Libraries {
			in = append(in, x.Entry()+" "+x.Kernel)
		}
		if want := []string{"ours ", "nccl 2.29.2 ring", "nccl 2.28.9 tree"}; !slices.Equal(in, want) {
			t.Errorf("in place %q, want %q", in, want)
		}
		if b := compared[0].Baseline; b == nil || b.Name != "ours" || b.Library != "ours" || b.TimeUS != 5 {
			t.Errorf("baseline %+v", b)
		}
		if len(at[1].Libraries) != 1 || len(at[2].Libraries) != 0 || compared[1].Baseline != nil {
			t.Errorf("out of place %v, at 4K %v", at[1].Libraries, at[2].Libraries)
		}
	}
}

// registeredRows checks that rows of buffers in windows are the library in that state, and those that do not tell are as
// called.
func registeredRows(t *testing.T, p Problem) {
	t.Helper()
	p.Both = false
	l := given(t, `collective,ranks,bytes,dtype,placement,library,version,registered,time_us
allreduce,4,1024,f32,in,nccl,2.29.2,yes,5
allreduce,4,1024,f32,in,nccl,2.29.2,window,6
allreduce,4,1024,f32,in,nccl,2.29.2,,9
allreduce,4,1024,f32,in,mpi,5.0,no,8
`)
	o := Options{Executor: "sim", Libraries: []GivenLibrary{l}}
	baselines, err := o.given(&p)
	if err != nil {
		t.Fatal(err)
	}
	at := (&Space{}).tallyPoints(&p, &o, baselines, nil)[0]
	if b := at.Baseline; b == nil || b.Name != "mpi 5.0" || b.Registered != "none" || b.Evidence != "measured" || b.Release != "mpi-5.0" {
		t.Errorf("as called %+v", b)
	}
	if len(at.Others) != 1 || at.Others[0].TimeUS != 5.5 || at.Others[0].Registered != "window" || at.Others[0].Release != "nccl-2.29.2" {
		t.Errorf("others %+v", at.Others)
	}
}
