package libraries_test

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/colltune/colltune/executor/measured"
	"github.com/colltune/colltune/executor/measured/measuredtest"
	"github.com/colltune/colltune/internal/units"
	"github.com/colltune/colltune/results/tuning"
	"github.com/colltune/colltune/search/libraries"
)

var updateThresholds = flag.Bool("update-thresholds", false, "write the table in docs/measurements/thresholds.md anew")

// threshold is a size up to which a framework runs all-reduces of its own, as it ships; from
// there on it runs NCCL, or other kernels of its own.
type threshold struct {
	framework, setting string
	system             string
	ranks              int
	bytes              int64
	included           bool
	lacks              string // why no rows can tell; "": they may
}

const mib = 1 << 20

// shipped lists the limits of vLLM (all_reduce_utils.py and custom_all_reduce.py at 00d618aab)
// and of SGLang (configs/custom_all_reduce_v2.py at 0fbab45d, all_reduce_utils.py at 25b38cc2,
// its default of 16 MiB in environ.py).
func shipped() (all []threshold) {
	const (
		custom = "CUSTOM_ALL_REDUCE_MAX_SIZES"
		symm   = "SYMM_MEM_ALL_REDUCE_MAX_SIZES"
		window = "NCCL_SYMM_MEM_ALL_REDUCE_CONFIG"
		other  = "below and above it are kernels of vLLM's own, and no size has rows of both"
		pcie   = "off: more than two GPUs without NVLink"
	)
	vllm := func(setting, system string, included bool, lacks string, limits ...int64) {
		for i, bytes := range limits {
			if bytes > 0 {
				all = append(all, threshold{"vllm", setting, system, 2 << i, bytes, included, lacks})
			}
		}
	}
	vllm(custom, "h200_sxm", false, other, 8*mib, 8*mib, mib/4)
	vllm(custom, "b200_sxm", false, other, 2*mib, 2*mib, mib)
	vllm("max_size", "a100_sxm", false, "", 8*mib, 8*mib, 8*mib)
	vllm("max_size", "l40s", false, "", 8*mib)
	vllm("max_size", "l40s", false, pcie, 0, 8*mib, 8*mib)
	vllm(symm, "h200_sxm", true, "", 64*mib, 32*mib, 64*mib)
	vllm(symm, "b200_sxm", true, "", 8*mib, 32*mib, 128*mib)
	for _, system := range []string{"h200_sxm", "b200_sxm"} {
		vllm(window, system, true, "rows of NCCL are of buffers that are not registered", 0, 16<<10, 16<<10)
		vllm(window, system, false, "rows of NCCL are of buffers that are not registered", 0, 512<<10, 128<<10)
	}
	for _, system := range []string{"h200_sxm", "b200_sxm", "a100_sxm", "l40s"} {
		for _, ranks := range []int{2, 4, 8} {
			lacks := ""
			if system == "l40s" && ranks > 2 {
				lacks = pcie
			}
			all = append(all, threshold{"sglang", "MAX_SIZE_KB", system, ranks, 16 * mib, true, lacks})
		}
	}
	inner := "below and above it are kernels of SGLang's own, and rows do not say which ran"
	for _, c := range []struct {
		system string
		bytes  [3]int64 // of graphs, by 2, 4 and 8 ranks
	}{{"h200_sxm", [3]int64{16 * mib, 384 << 10, 128 << 10}}, {"b200_sxm", [3]int64{8 * mib, 2*mib + mib/4, mib / 2}}} {
		for i, bytes := range c.bytes {
			all = append(all, threshold{"sglang", "one_shot_push_threshold", c.system, 2 << i, bytes, true, inner})
		}
		for i, bytes := range []int64{64 * mib, 64 * mib, 128 * mib} {
			all = append(all, threshold{"sglang", "TORCH_SYMM_MEM_ALL_REDUCE_MAX_SIZES", c.system, 2 << i, bytes, true, "no rows of PyTorch's kernels of symmetric memory"})
		}
	}
	return all
}

// judge compares a limit with the rows at the sizes that it lets in: the framework's newest
// version in a CUDA graph, which runs its own kernels there, and NCCL.
func judge(t *testing.T, s threshold, table *libraries.Table) (verdict, rows string) {
	if s.lacks != "" {
		return "no rows", s.lacks
	}
	var q libraries.Query
	q.Collective, q.Ranks = "allreduce", s.ranks
	own, nccl := map[int64]*measured.Row{}, map[int64]*measured.Row{}
	newest := newestOf(table, s.framework)
	var sizes []int64
	for i := range table.Rows {
		r := &table.Rows[i]
		switch inside := r.Bytes < s.bytes || s.included && r.Bytes == s.bytes; {
		case r.Ranks != s.ranks || r.Width() != 2 || !inside:
		case r.Library == s.framework && r.Version == newest && r.Conditions[measured.Mode] == "graph":
			own[r.Bytes] = r
		case r.Library == "nccl" && (nccl[r.Bytes] == nil || r.TimeUS < nccl[r.Bytes].TimeUS):
			nccl[r.Bytes] = r
		}
	}
	for bytes := range own {
		if nccl[bytes] != nil {
			sizes = append(sizes, bytes)
		}
	}
	if len(sizes) == 0 {
		t.Fatalf("%+v: no size has rows of both", s)
	}
	slices.Sort(sizes)
	ratio := func(bytes int64) float64 { return own[bytes].TimeUS / nccl[bytes].TimeUS }
	// slower reports whether a time is longer than another beyond noise.
	slower := func(a, b *measured.Row) bool {
		low, _ := a.Interval()
		_, high := b.Interval()
		return low > high
	}
	text := func(bytes int64) string {
		return fmt.Sprintf("at %s %s takes %.4g µs, NCCL %.4g", units.Bytes(bytes), name(s.framework), own[bytes].TimeUS, nccl[bytes].TimeUS)
	}
	last, below := sizes[len(sizes)-1], sizes[max(len(sizes)-2, 0)]
	also := ""
	for _, bytes := range sizes[:len(sizes)-1] {
		if slower(own[bytes], nccl[bytes]) {
			also += "; " + text(bytes)
		}
	}
	switch {
	case slower(own[last], nccl[last]):
		return "wrong", text(last) + also
	case slower(nccl[last], own[last]):
		return "not refuted", text(last) + also
	case ratio(below) < fell:
		return "no rows", text(last) + ", which is NCCL's time: what was measured has a lower limit; " + text(below)
	}
	return "reproduced", text(last) + ": they meet" + also
}

// fell: where a framework's time is a smaller part of NCCL's at the size below, it does not
// come to NCCL's time by itself at the next.
const fell = 0.8

func name(framework string) string {
	return map[string]string{"vllm": "vLLM", "sglang": "SGLang"}[framework]
}

func systemName(system string) string { return strings.ToUpper(strings.TrimSuffix(system, "_sxm")) }

// newestOf is the newest version of a library in a table whose kernels are its own.
func newestOf(table *libraries.Table, library string) string {
	newest := ""
	for _, r := range table.Rows {
		if r.Library == library && strings.Contains(strings.ToLower(r.Conditions[measured.Kernel]), "custom") && later(r.Version, newest) {
			newest = r.Version
		}
	}
	return newest
}

// later compares versions number by number.
func later(a, b string) bool {
	var x, y [3]int
	fmt.Sscanf(a, "%d.%d.%d", &x[0], &x[1], &x[2])
	fmt.Sscanf(b, "%d.%d.%d", &y[0], &y[1], &y[2])
	return slices.Compare(x[:], y[:]) > 0
}

// docs/measurements/thresholds.md says of each limit that vLLM and SGLang ship for these
// systems whether the rows bear it out.
func TestThresholdsShipped(t *testing.T) {
	var b strings.Builder
	b.WriteString("| framework | limit | GPUs | size | | by the rows | rows |\n|---|---|---|---:|---|---|---|\n")
	counts := map[string]int{}
	tables := map[string]*libraries.Table{}
	all := shipped()
	for len(all) > 0 {
		s := all[0]
		if tables[s.system] == nil {
			text, err := os.ReadFile(fileOf(s.system))
			if err != nil {
				t.Fatal(err)
			}
			tables[s.system], _ = libraries.Build(measuredtest.MustRead(t, s.system+",system="+s.system, string(text)), libraries.DefaultEqual)
		}
		verdict, rows := judge(t, s, tables[s.system])
		ends := "excluded"
		if s.included {
			ends = "included"
		}
		var ranks, sizes []string
		for { // limits that nothing was measured of share a row
			next := all[0]
			next.ranks, next.bytes = s.ranks, s.bytes
			if next != s || len(ranks) > 0 && s.lacks == "" {
				break
			}
			ranks, sizes = append(ranks, fmt.Sprint(all[0].ranks)), append(sizes, units.Bytes(all[0].bytes).String())
			counts[verdict]++
			if all = all[1:]; len(all) == 0 {
				break
			}
		}
		fmt.Fprintf(&b, "| %s | `%s` | %s %s | %s | %s | %s | %s |\n", name(s.framework), s.setting, strings.Join(ranks, ", "), systemName(s.system), strings.Join(sizes, ", "), ends, verdict, rows)
	}
	t.Log(counts)
	b.WriteString(exportedLimits(t, tables))
	file := filepath.Join("..", "..", "docs", "measurements", "thresholds.md")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	part := regexp.MustCompile(`(?s)<!-- thresholds -->\n(.*)<!-- end of thresholds -->\n`)
	has := part.FindSubmatch(text)
	switch {
	case has == nil:
		t.Fatalf("%s has no table of thresholds", file)
	case string(has[1]) == b.String():
	case *updateThresholds:
		now := part.ReplaceAllLiteral(text, []byte("<!-- thresholds -->\n"+b.String()+"<!-- end of thresholds -->\n"))
		if err := os.WriteFile(file, now, 0o666); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("%s is not what the rows say: go test ./search/libraries -run ThresholdsShipped -update-thresholds\n%s", file, &b)
	}
}

// exportedLimits is the table of the limits that exports of the rows have, none of which is
// above what the framework runs by itself.
func exportedLimits(t *testing.T, tables map[string]*libraries.Table) string {
	var b strings.Builder
	b.WriteString("\n| `--to` | GPUs | own kernels to, as exported, by ranks |\n|---|---|---|\n")
	for _, framework := range []string{"vllm", "sglang"} {
		for _, system := range slices.Sorted(maps.Keys(tables)) {
			var q libraries.Query
			q.Conditions[measured.DType] = "f16"
			f, err := tuning.Named(framework)
			if err != nil {
				t.Fatal(err)
			}
			e, err := tables[system].Select(q).Export(f, tuning.Options{})
			if err != nil {
				t.Fatal(err)
			}
			last := map[int]int64{}
			for _, r := range e.Rules {
				last[r.Ranks] = max(last[r.Ranks], 0)
				if r.Kernel != "nccl" {
					last[r.Ranks] = r.Last
				}
			}
			var limits []string
			for _, ranks := range slices.Sorted(maps.Keys(last)) {
				if ran := tuning.Ran(tuning.Scope{Collective: "allreduce", Ranks: ranks, System: system}, tuning.Config{Library: framework}, last[ranks]); ran.Library != framework {
					t.Errorf("%s over %d %s: exported to %d bytes, where %s ran", framework, ranks, system, last[ranks], ran.Library)
				}
				limits = append(limits, fmt.Sprintf("%d: %d", ranks, last[ranks]))
			}
			fmt.Fprintf(&b, "| %s | %s | %s |\n", framework, systemName(system), strings.Join(limits, ", "))
		}
	}
	return b.String()
}
