package tuning_test

import (
	"bufio"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/colltune/colltune/results/tuning"
	"github.com/colltune/colltune/results/tuning/tuningtest"
)

// A file takes the place of AMD's rows, so that it has them where it has none of its own, on
// the GPUs that they are for.
func TestVendorsRowsFillTheGaps(t *testing.T) {
	f, _ := tuning.Named("rccl-conf")
	for _, c := range []struct {
		system, name, tells string
		gap, two            string // at 4 KiB of 8 ranks, and at 64 MiB of 16 on two nodes
	}{
		{"mi355x", "colltune-table-gfx950-rccl-tuner.conf", "the rows that RCCL ships for gfx950 stand at the end", "tree LL 1", "tree Simple 64"},
		{"mi300x", "colltune-table-gfx942-rccl-tuner.conf", "AMD ships no rows for gfx942", "", ""},
		{"", "colltune-table-rccl-tuner.conf", "this file displaces them; state the system", "", ""},
	} {
		here := tuning.Scope{Collective: "allreduce", Ranks: 8, Nodes: 1, System: c.system}
		files, told := f.Write([]tuning.Rule{{Scope: here, First: 65536, Last: 1 << 20, Config: tuning.Config{Library: "rccl", Kernel: "ring", Protocol: "LL128", Channels: 24}}}, tuning.Options{})
		if len(files) != 1 || files[0].Name != c.name {
			t.Fatalf("files %v, want %s", files, c.name)
		}
		text := string(files[0].Text)
		for _, want := range []string{c.tells, "ROCm 7.13"} {
			// A line of comment that is longer than the reader's goes on in the next.
			if !strings.Contains(strings.Join(told, "\n"), want) || !strings.Contains(strings.ReplaceAll(text, "\n# ", ""), want) {
				t.Errorf("%s: %q is not told: %q\n%s", c.system, want, told, text)
			}
		}
		reader, err := tuningtest.Read(f.Name, "f", files[0].Text)
		if err != nil {
			t.Fatal(err)
		}
		two := tuning.Scope{Collective: "allreduce", Ranks: 16, Nodes: 2}
		for _, at := range []struct {
			call  tuning.Scope
			bytes int64
			want  string
		}{{here, 4096, c.gap}, {here, 65536, "ring LL128 24"}, {here, 1 << 20, "ring LL128 24"}, {two, 64 << 20, c.two}, {two, 4096, ""}} {
			got := ""
			if x, ok := reader.Choose(at.call, at.bytes); ok {
				got = strings.TrimSpace(x.Kernel + " " + x.Protocol + " " + strconv.Itoa(x.Channels))
			}
			if got != at.want {
				t.Errorf("%q: %s at %d: %q, want %q\n%s", c.system, at.call, at.bytes, got, at.want, text)
			}
		}
	}
	if strings.Contains(f.Load, "example") {
		t.Errorf("a plug-in is asked for: %s", f.Load)
	}
}

// The rows written are those that RCCL ships. Of COLLTUNE_RCCL_SHIPPED=FILE, a table of them.
func TestVendorsRowsAreThoseShipped(t *testing.T) {
	file, err := os.Open(os.Getenv("COLLTUNE_RCCL_SHIPPED"))
	if err != nil {
		t.Skip("COLLTUNE_RCCL_SHIPPED names no table of the rows that RCCL ships")
	}
	defer file.Close()
	f, _ := tuning.Named("rccl-conf")
	files, _ := f.Write([]tuning.Rule{{Scope: tuning.Scope{Collective: "broadcast", Ranks: 8, Nodes: 1, System: "mi355x"}, First: 1, Last: 2, Config: tuning.Config{Library: "rccl", Kernel: "ring", Protocol: "LL"}}}, tuning.Options{})
	rows := 0
	for lines := bufio.NewScanner(file); lines.Scan(); {
		if fields := strings.Split(lines.Text(), "\t"); fields[0] == "gfx950" {
			rows++
			if want := strings.Join(fields[2:10], ",") + "\n"; !strings.Contains(string(files[0].Text), want) {
				t.Errorf("%q is not in\n%s", want, files[0].Text)
			}
		}
	}
	if rows == 0 {
		t.Error("no rows of gfx950")
	}
}
