package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/colltune/colltune/topologies"
)

// Every command that the pages and the help show is one there is: its flags and
// arguments are read, and it does what it is shown to do. Searches are held to
// their rules and not run; nor is what needs other machines, nor what takes long.

// inFences are the lines of a page's blocks of no language but the shell's.
func inFences(page string) (lines []string) {
	open, shell := false, false
	for line := range strings.Lines(page) {
		line = strings.TrimSuffix(line, "\n")
		language, mark := strings.CutPrefix(line, "```")
		switch {
		case mark:
			open = !open
			shell = open && (language == "" || language == "sh")
		case shell:
			lines = append(lines, line)
		}
	}
	return lines
}

// inHelp are the lines that stand apart in a command's help.
func inHelp(long string) (lines []string) {
	for line := range strings.Lines(long) {
		if line, ok := strings.CutPrefix(line, "  "); ok {
			lines = append(lines, strings.TrimSuffix(line, "\n"))
		}
	}
	return lines
}

// remark is what stands beside a command: after a #, or after a column's gap.
var remark = regexp.MustCompile(`\s#\s.*$|\s{4,}\S.*$`)

// elsewhere are the commands that are only read here.
var elsewhere = regexp.MustCompile(`^executor check (cuda|\./my-executor)|--executor (cluster|\./)|^synth .* --pareto`)

type example struct {
	args []string
	to   string // the file that standard output goes to
	code int
}

// examplesOf reads the commands among lines. One with an ellipsis, a choice or a
// name in capitals stands for several.
func examplesOf(lines []string) []example {
	var all []example
	for _, line := range lines {
		line, ok := strings.CutPrefix(line, "colltune ")
		if !ok {
			continue
		}
		var e example
		if strings.Contains(remark.FindString(line), "exit code 3") {
			e.code = exitNothing
		}
		line = remark.ReplaceAllString(line, "")
		if strings.ContainsAny(line, "…|") || strings.HasSuffix(line, " NAME") {
			continue
		}
		line, e.to, _ = strings.Cut(line, " > ")
		for _, word := range strings.Fields(line) {
			e.args = append(e.args, strings.Trim(word, "'"))
		}
		all = append(all, e)
	}
	return all
}

func TestExamplesRun(t *testing.T) {
	all := map[string][]example{}
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil || len(pages) < 10 {
		t.Fatalf("%d pages: %v", len(pages), err)
	}
	reference, err := filepath.Glob("../../docs/reference/*.md")
	if err != nil || len(reference) == 0 {
		t.Fatalf("%d pages of reference: %v", len(reference), err)
	}
	for _, page := range append(pages, reference...) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		if page = strings.TrimPrefix(page, "../../"); page == "docs/tutorial.md" || page == "docs/README.md" {
			continue // TestTutorial runs all of the one, in its order, as TestReadme does; the other is a list of pages
		}
		if all[page] = examplesOf(inFences(string(text))); len(all[page]) == 0 && filepath.Dir(page) != "docs/reference" {
			t.Errorf("%s shows no command", page)
		}
	}
	started := false
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		if c.Name() == "completion" {
			return
		}
		if shown := examplesOf(inHelp(c.Long)); len(shown) > 0 {
			all["help "+c.CommandPath()] = shown
		}
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(newRoot(&started))
	made := t.TempDir()
	prepare(t, made)
	for name, examples := range all {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			copyNamed(t, dir, made, examples)
			t.Chdir(dir)
			for _, e := range examples {
				e.run(t)
			}
		})
	}
}

// copyNamed copies the files of a folder to another, and those of its folders that examples
// name: campaigns have hundreds of files.
func copyNamed(t *testing.T, to, from string, examples []example) {
	t.Helper()
	named := func(folder string) bool {
		return slices.ContainsFunc(examples, func(e example) bool {
			return slices.ContainsFunc(e.args, func(word string) bool { return strings.Contains(word, folder) })
		})
	}
	entries, err := os.ReadDir(from)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		old, copied := filepath.Join(from, e.Name()), filepath.Join(to, e.Name())
		var text []byte
		switch {
		case !e.IsDir():
			if text, err = os.ReadFile(old); err == nil {
				err = os.WriteFile(copied, text, 0o666)
			}
		case named(e.Name()):
			err = os.CopyFS(copied, os.DirFS(old))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// run does what an example shows, or as much of it as can be done here.
func (e example) run(t *testing.T) {
	line := strings.Join(e.args, " ")
	if e.args[0] == "search" || elsewhere.MatchString(line) {
		if err := e.read(t.Context()); err != nil {
			t.Errorf("colltune %s: %v", line, err)
		}
		return
	}
	var args []string
	for _, word := range e.args {
		if files, _ := filepath.Glob(word); strings.Contains(word, "*") && len(files) > 0 {
			args = append(args, files...)
		} else {
			args = append(args, word)
		}
	}
	if e.args[0] == "run" {
		args = append(args, "-b", "4K", "-e", "4K", "-n", "1", "-w", "0")
	}
	var out, told bytes.Buffer
	if code := Main(args, strings.NewReader(""), &out, &told); code != e.code {
		t.Errorf("colltune %s: exit code %d, want %d: %s", line, code, e.code, &told)
	}
	if e.to != "" {
		if err := os.WriteFile(e.to, out.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// read takes an example's flags and arguments as its command does, up to where
// the work would begin.
func (e example) read(ctx context.Context) error {
	started := false
	root := newRoot(&started)
	root.SetErr(io.Discard)
	cmd, rest, err := root.Find(e.args)
	if err == nil {
		err = cmd.ParseFlags(rest)
	}
	if err == nil {
		err = cmd.ValidateArgs(cmd.Flags().Args())
	}
	if err != nil || cmd.Name() != "search" || strings.HasPrefix(flagValue(cmd, "executor"), ".") {
		return err
	}
	cmd.SetContext(ctx)
	_, err = searchRequestsOf(cmd)
	return err
}

// prepare makes the files that the examples name as a user's own.
func prepare(t *testing.T, dir string) {
	machine, ok := topologies.Source("dgx-1")
	if !ok {
		t.Fatal("no dgx-1")
	}
	const star = `"""A ring that every rank's chunk goes round."""
family(name = "mine", collectives = ["allgather"])

def applies(topo, p):
    return all([topo.linked(r, (r + 1) % topo.ranks) for r in range(topo.ranks)]) or "no link from some rank to the next"

def chunks(topo, p):
    return 1

def program(topo, p):
    for r in range(topo.ranks):
        c = chunk(r, "in", 0).copy(r, "out", r)
        for hop in range(1, topo.ranks):
            c = c.copy((r + hop) % topo.ranks, "out", r)
`
	const measured = "# Collective test starting: all_reduce_perf\n" +
		"        1024           256     float     sum      -1    41.00    0.02    0.04       0    42.00    0.02    0.04       0\n" +
		"       16384          4096     float     sum      -1    43.00    0.38    0.67       0    44.00    0.37    0.65       0\n" +
		"       65536         16384     float     sum      -1    46.00    1.42    2.49       0    47.00    1.39    2.44       0\n" +
		"     1048576        262144     float     sum      -1    60.00   17.48   30.58       0    61.00   17.19   30.08       0\n" +
		"     4194304       1048576     float     sum      -1   140.00   29.96   52.43       0   141.00   29.75   52.06       0\n"
	const exchanged = "# Collective test starting: alltoall_perf\n" +
		"       65536          2048     float    none      -1    35.00    1.87    1.64       0    35.00    1.87    1.64       0\n" +
		"     4194304        131072     float    none      -1   160.00   26.21   22.94       0   161.00   26.05   22.79       0\n"
	const ended = "# Out of bounds values : 0 OK\n"
	devices := ""
	for r := range 8 {
		devices += fmt.Sprintf("#  Rank %2d Group  0 Pid 1 on node device %2d [0x00] NVIDIA A100\n", r, r)
	}
	const gathered = "# Collective test starting: all_gather_perf\n" +
		"       65536          2048     float    none      -1    30.00    2.18    1.91       0    31.00    2.11    1.85       0\n" +
		"      262144          8192     float    none      -1    32.00    8.19    7.17       0    33.00    7.94    6.95       0\n" +
		"     1048576         32768     float    none      -1    40.00   26.21   22.94       0    41.00   25.58   22.38       0\n" +
		"     2097152         65536     float    none      -1    60.00   34.95   30.58       0    61.00   34.38   30.08       0\n"
	const topo = `<system version="1"><cpu numaid="0" affinity="ffff" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="85">
<pci busid="0000:01:00.0" class="0x030200" link_speed="16 GT/s" link_width="16"><gpu dev="0" sm="80" rank="0" gdr="1"/></pci>
<pci busid="0000:02:00.0" class="0x030200" link_speed="16 GT/s" link_width="16"><gpu dev="1" sm="80" rank="1" gdr="1"/></pci>
</cpu></system>
`
	const matrix = "\tGPU0\tGPU1\tNIC0\nGPU0\t X \tNV18\tPIX\nGPU1\tNV18\t X \tSYS\nNIC0\tPIX\tSYS\t X \n\nNIC Legend:\n\n  NIC0: mlx5_0\n"
	const times = "algorithm,protocol,bytes,time_us\nring,LL,1024,9\nring,LL,2048,12\ntree,LL,1024,8\ntree,LL,2048,14\n"
	const osu = "# OSU MPI-CUDA Allreduce Latency Test v7.3\n# Datatype: MPI_FLOAT.\n# Size       Avg Latency(us)\n1024                   30.00\n16384                  41.00\n65536                  80.00\n4194304              1900.00\n"
	const osuExchange = "# OSU MPI-CUDA All-to-All Personalized Exchange Latency Test v7.3\n# Datatype: MPI_FLOAT.\n# Size       Avg Latency(us)\n1024                   21.00\n524288                240.00\n"
	const libraries = "collective,ranks,nodes,bytes,dtype,library,version,mode,time_us\nallreduce,8,1,1024,bf16,vllm,0.24.0,graph,4.8\nallreduce,8,1,1024,bf16,sglang,0.5.14,graph,3.3\n"
	const ibstat = "CA 'mlx5_0'\n\tPort 1:\n\t\tState: Active\n\t\tRate: 400\n"
	pages := map[string]string{}
	for _, name := range []string{"workload", "language"} {
		text, err := os.ReadFile("../../docs/" + name + ".md")
		if err != nil {
			t.Fatal(err)
		}
		pages[name] = string(text)
	}
	for name, text := range map[string]string{
		"rank0.json": `{"traceEvents": [{"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce", "ts": 1, "dur": 60, "args": {"stream": 7, "Collective name": "allreduce", "dtype": "Half", "In msg nelems": 2048, "Out msg nelems": 2048, "Group size": 8}}]}`,
		"step.toml":  fenceOf(t, pages["workload"], "toml"), "train.toml": strings.Replace(fenceOf(t, pages["workload"], "toml"), "f16", "f32", 1), "worked.csv": fenceOf(t, pages["workload"], "csv"),
		"by-nodes.star": fenceOf(t, pages["language"], "python run=allreduce@2x4"),
		"topo.txt":      matrix, "ibstat.txt": ibstat, "times.csv": times, "osu_allreduce.txt": osu, "libraries.csv": libraries,
		"mymachine.toml": string(machine), "my.toml": string(machine), "cluster.toml": string(machine),
		"my.star": star, "mine.star": star,
		"measured.txt": measured, "nccl-tests.txt": measured, "all_reduce.txt": devices + measured + ended, "alltoall.txt": devices + exchanged + ended, "osu_alltoall.txt": osuExchange, "all_gather.txt": gathered, "topo.xml": topo, "ndv4-topo.xml": topo,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{
		{"compile", "ring", "-t", "ring:8", "-c", "allreduce", "--out", "my.json"},
		{"compile", "ring", "-t", "dgx-a100", "-c", "allreduce", "--out", "ring.json"},
		{"table", "build", "--library", "nccl=" + filepath.Join(dir, "all_reduce.txt") + ",ranks=8", "--library", filepath.Join(dir, "libraries.csv"), "--out", "times.table"},
		{"table", "build", "--library", filepath.Join(dir, "worked.csv"), "--out", "worked.table"},
		{"run", filepath.Join(dir, "ring.json"), "-t", "dgx-a100", "-e", "8K", "-o", "json", "--out", "runs.json"},
		{"search", "-t", "dgx-a100", "-c", "allreduce", "-b", "1K", "-e", "1K", "--family", "all-pairs", "--instances", "1", "--protocol", "LL", "--campaign", "out/campaign"},
		{"search", "-t", "frontier", "--nodes", "1,2", "-c", "allgather", "-b", "1M", "-e", "1M", "--family", "ring", "-p", "channels=1", "--instances", "1", "--protocol", "LL", "--campaign", "campaigns/frontier-map-allgather"},
	} {
		args[len(args)-1] = filepath.Join(dir, args[len(args)-1])
		var told bytes.Buffer
		if code := Main(args, strings.NewReader(""), io.Discard, &told); code != exitDone {
			t.Fatalf("%v: exit code %d: %s", args, code, &told)
		}
	}
	for _, another := range []string{"campaigns/dgx-a100-1x-allreduce", "tuned", "campaigns/monday", "campaigns/tuesday", "released", "next"} {
		if err := os.CopyFS(filepath.Join(dir, another), os.DirFS(filepath.Join(dir, "out", "campaign"))); err != nil {
			t.Fatal(err)
		}
	}
}
