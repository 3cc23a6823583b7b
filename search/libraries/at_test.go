package libraries_test

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/colltune/colltune/executor/measured"
	"github.com/colltune/colltune/executor/measured/measuredtest"
	"github.com/colltune/colltune/search/libraries"
)

func TestBetweenSizes(t *testing.T) {
	const text = `collective,ranks,bytes,library,time_us,low_us,high_us
allreduce,8,1024,a,10,9,10
allreduce,8,4096,a,40,36,44
allreduce,8,1024,b,20,20,20
allreduce,8,4096,b,20,20,20
allreduce,8,2048,c,90,90,90
`
	table, _ := libraries.Build(measuredtest.MustRead(t, "f.csv", text), libraries.DefaultEqual)
	curves, err := table.Curves(libraries.Query{Collective: "allreduce", Ranks: 8})
	if err != nil {
		t.Fatal(err)
	}
	times := curves.At(2048)
	if len(times) != 3 {
		t.Fatalf("%d libraries at 2048 bytes: want 3", len(times))
	}
	for _, x := range times[:2] { // straight in logarithms, the middle is the geometric mean
		if math.Abs(x.TimeUS-20) > 1e-9 || !x.Interpolated || x.Between != [2]int64{1024, 4096} {
			t.Errorf("%s takes %v at 2048 bytes, of %v: want 20, of 1024 and 4096", x.Library, x.TimeUS, x.Between)
		}
	}
	if x := times[0]; x.Library != "a" || math.Abs(x.LowUS-18) > 1e-9 {
		t.Errorf("the fastest is %s from %v us on: want a, from 18", x.Library, x.LowUS)
	}
	if x := times[2]; x.Library != "c" || x.Interpolated {
		t.Errorf("the third is %s, interpolated %v: want c, measured", x.Library, x.Interpolated)
	}
	if n := len(curves.At(2047)); n != 2 {
		t.Errorf("%d libraries at 2047 bytes: want 2, since c was measured at 2048 alone", n)
	}
	if n := len(curves.At(4097)); n != 0 {
		t.Errorf("%d libraries beyond all sizes", n)
	}
	if got, want := fmt.Sprint(curves.Regions()), "[1K to 2K bytes 2049 to 4K bytes]"; got != want {
		t.Errorf("regions %s: want %s", got, want)
	}
}

// Regions are what one finds by asking for every byte.
func TestRegionsAreExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var b strings.Builder
		b.WriteString("collective,ranks,bytes,library,time_us\n")
		for range rapid.IntRange(1, 12).Draw(t, "rows") {
			fmt.Fprintf(&b, "allgather,4,%d,%c,%d\n", rapid.IntRange(1, 120).Draw(t, "bytes"), 'a'+rune(rapid.IntRange(0, 3).Draw(t, "library")), rapid.IntRange(1, 9).Draw(t, "us"))
		}
		rows, _, err := measuredtest.Read("f.csv", b.String())
		if err != nil {
			t.Fatal(err)
		}
		table, _ := libraries.Build(rows, nil)
		curves, err := table.Curves(libraries.Query{Collective: "allgather", Ranks: 4})
		if err != nil {
			t.Fatal(err)
		}
		least, most := curves.Sizes()
		next := least
		for _, r := range curves.Regions() {
			if r.First != next || r.Last < r.First {
				t.Fatalf("a region from %d to %d follows one to %d", r.First, r.Last, next-1)
			}
			next = r.Last + 1
			entry := ""
			if r.Best != nil {
				entry = r.Best.Entry()
			}
			for bytes := r.First; bytes <= r.Last; bytes++ {
				times := curves.At(bytes)
				switch {
				case len(times) == 0 && entry == "": // between the sizes of libraries that do not meet
				case len(times) == 0 || entry == "":
					t.Fatalf("%d bytes: %q in regions, %d libraries", bytes, entry, len(times))
				case times[0].Entry() != entry:
					for _, x := range times {
						if x.Entry() == entry && x.TimeUS > times[0].TimeUS*(1+1e-9) {
							t.Fatalf("%d bytes: %s takes %v, and %s, the fastest, %v", bytes, x.Entry(), x.TimeUS, times[0].Entry(), times[0].TimeUS)
						}
					}
				}
				if got := curves.RegionOf(bytes); got != r {
					t.Fatalf("%d bytes are in %v: want %v", bytes, got, r)
				}
			}
		}
		if next != most+1 {
			t.Fatalf("regions end at %d: want %d", next-1, most)
		}
	})
}

func TestQueriesRefused(t *testing.T) {
	const text = `collective,ranks,nodes,bytes,dtype,library,time_us
allreduce,8,1,1024,f32,a,10
allreduce,8,2,1024,f32,a,10
allreduce,8,2,1024,bf16,a,10
`
	table, _ := libraries.Build(measuredtest.MustRead(t, "f.csv", text), libraries.DefaultEqual)
	var two, half measured.Conditions
	two[measured.Nodes], half[measured.Nodes] = "2", "2"
	half[measured.DType] = "f16"
	for _, c := range []struct {
		q    libraries.Query
		want string
	}{
		{libraries.Query{Collective: "allreduce", Ranks: 8}, "choose with --nodes (1, 2), --dtype (of 2 bytes, of 4 bytes)"},
		{libraries.Query{Collective: "allreduce", Ranks: 8, Conditions: two}, "choose with --dtype (of 2 bytes, of 4 bytes)"},
		{libraries.Query{Collective: "allgather", Ranks: 8}, "no allgather over 8 ranks under these conditions: it has allreduce over 8 ranks"},
		{libraries.Query{Collective: "allreduce", Ranks: 8, Conditions: half}, ""}, // 16-bit floats are one width
	} {
		_, err := table.Curves(c.q)
		if got := fmt.Sprint(err); !strings.Contains(got, c.want) || (c.want == "") != (err == nil) {
			t.Errorf("%v: %v; want %q", c.q, err, c.want)
		}
	}
}

// A table's ranges give each measured size to its fastest entry, and no byte to two.
func TestTableRegions(t *testing.T) {
	for _, system := range []string{"h200_sxm", "l40s"} {
		text, err := os.ReadFile(fileOf(system))
		if err != nil {
			t.Fatal(err)
		}
		table, _ := libraries.Build(measuredtest.MustRead(t, system, string(text)), libraries.DefaultEqual)
		won := table.Regions()
		for i, w := range won {
			if w.First > w.Last || i > 0 && won[i-1].Best.Ranks == w.Best.Ranks && w.First <= won[i-1].Last {
				t.Errorf("%s: %d to %d after %+v", system, w.First, w.Last, won[max(i-1, 0)])
			}
		}
		choices := table.Choices(0)
		if len(choices) < 60 {
			t.Errorf("%s: %d choices", system, len(choices))
		}
		for _, c := range choices {
			i := slices.IndexFunc(won, func(w libraries.Region) bool {
				return w.Best.Ranks == c.Best.Ranks && w.First <= c.Best.Bytes && c.Best.Bytes <= w.Last
			})
			if i < 0 || won[i].Best.Entry() != c.Best.Entry() {
				t.Errorf("%s: %d bytes over %d ranks: range %d, want %s", system, c.Best.Bytes, c.Best.Ranks, i, c.Best.Entry())
			}
		}
	}
}
