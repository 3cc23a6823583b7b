package nccl

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/executor/nccl/nccltests"
	"github.com/colltune/colltune/internal/child"
)

// fakeEnv is the variable that makes the test binary one of nccl-tests' programs: its
// fault, or "well".
const fakeEnv = "COLLTUNE_EXECUTOR_FAKE_TESTS"

func TestMain(m *testing.M) {
	child.Dispatch(os.Args)
	if fault := os.Getenv(fakeEnv); fault != "" {
		os.Exit(fakeTests(fault))
	}
	code := m.Run()
	if fakeLibrary.dir != "" {
		os.RemoveAll(fakeLibrary.dir)
	}
	os.Exit(code)
}

// fakes returns a folder of nccl-tests' programs, FAKE_PROCESSES of which run at a time.
func fakes(t testing.TB, fault string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, c := range collective.NCCLTests.Collectives() {
		name := nccltests.Program(c)
		script := fmt.Sprintf("#!/bin/sh\necho \"$@\" $(env | grep ^NCCL_ | sort) >> %s/calls\n%s=%s FAKE_PROGRAM=%s exec %s \"$@\"\n", dir, fakeEnv, fault, name, self)
		if err := os.WriteFile(filepath.Join(dir, name), []byte(script), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// fakeRun is a run of a fake program: its fault, and what its arguments and environment
// ask for.
type fakeRun struct {
	fault, program, coll string
	ranks                int
	spec                 collective.Collective
	elem                 int64
	debug                bool
	algorithm, protocol  string
	kernel               string // symmetric; "": none
	ctas                 int
	channels             int
	chunks               int // nchunksperloop of the program it loaded; 0: none
	inPlace              bool
}

// fakeTests prints the output of nccl-tests with a library that has rings and trees, and
// that runs a ring where PAT is asked for.
func fakeTests(fault string) int {
	flags := flag.NewFlagSet("perf", flag.ExitOnError)
	least, most, factor := flags.Int64("b", 0, ""), flags.Int64("e", 0, ""), flags.Int64("f", 2, "")
	gpus, iters, warmup := flags.Int("g", 1, ""), flags.Int("n", 20, ""), flags.Int("w", 5, "")
	_ = flags.Int("c", 1, "")
	registered := flags.Int("R", 0, "")
	dtype, op, root, cycles := flags.String("d", "float", ""), flags.String("o", "sum", ""), flags.Int("r", 0, ""), flags.Int("N", 1, "")
	if fault == "rccl" {
		cycles = flags.Int("s", 1, "")
	}
	_ = flags.Parse(os.Args[1:])
	if fault == "rccl" && flags.Lookup("N").Value.String() != "1" {
		fmt.Println("all_reduce_perf: invalid option -- 'N'\ninvalid option '?'\nUSAGE: all_reduce_perf \n\t[-s,--stress_cycles <number of cycles>] ")
		return 0
	}
	if fault == "old" && *cycles > 1 {
		fmt.Println("all_reduce_perf: invalid option -- 'N'\ninvalid option '?'\nUSAGE: all_reduce_perf ")
		return 0
	}

	processes, _ := strconv.Atoi(os.Getenv("FAKE_PROCESSES"))
	r := &fakeRun{fault: fault, program: os.Getenv("FAKE_PROGRAM"), ranks: max(processes, 1) * *gpus, debug: os.Getenv("NCCL_DEBUG") == "INFO"}
	r.coll = (&nccltests.Table{Program: r.program}).Collective()
	r.spec, _ = collective.New(collective.Spec{Name: r.coll, Ranks: r.ranks, Chunks: 1})
	ours := (&nccltests.Row{Type: *dtype}).DType()
	r.elem, _ = collective.ElemBytes(ours)

	if *registered == 2 && fault != "windowless" {
		r.kernel, r.ctas = "default", 12
	}

	switch fault {
	case "garbage":
		fmt.Println("Segmentation fault (core dumped)")
		return 0
	case "hang":
		fmt.Println("# waiting")
		time.Sleep(time.Hour)
	case "exit":
		fmt.Println("node1: Test CUDA failure common.cu:1295 'no CUDA-capable device is detected'")
		return 3
	}
	tables := 1
	if fault == "without-MPI" {
		tables = 2
	}
	for range tables {
		fmt.Printf("# nccl-tests version 2.19.6 nccl-headers=23007 nccl-library=23007\n# Collective test starting: %s\n# Using devices\n", r.program)
		for rank := range r.ranks {
			fmt.Printf("#  Rank %2d Group  0 Pid   4410 on      node1 device %2d [0000:07:00] FAKE GPU\n", rank, rank)
		}
		if os.Getenv("NCCL_DEBUG") != "" {
			fmt.Println("NCCL version 2.30.7+cuda12.9")
		}
		if why := r.begin(); why != "" {
			fmt.Println("node1:1:1 [0] NCCL WARN " + why)
			return 2
		}
		fmt.Println("#       size         count      type   redop    root     time   algbw   busbw  #wrong     time   algbw   busbw  #wrong ")
		for range *cycles {
			for size := *least; size <= *most; size *= *factor {
				if fault == "too-large" && size > 1<<20 { // the row is begun first
					fmt.Printf("%12d  %12d  %8s  %6s  %6dnode1: Test CUDA failure common.cu:1 'out of memory'\n", size, size/r.elem, *dtype, *op, -1)
					return 3
				}
				r.row(size, *dtype, *op, *root, *iters+*warmup)
			}
		}
		if fault == "wrong" {
			fmt.Println("# Out of bounds values : 12 FAILED\n# Avg bus bandwidth    : 1.0\n .. node1 pid 4410: Test failure common.cu:1454")
			return 7 // the programs' number for it
		}
		fmt.Println("# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 1.0")
	}
	return 0
}

// begin reads the environment, as a communicator does.
func (r *fakeRun) begin() (failed string) {
	r.algorithm, r.protocol, r.channels = "ring", "ll", 4
	switch algo := strings.ToLower(os.Getenv("NCCL_ALGO")); algo {
	case "", "msccl,ring,tree", "pat":
	case "ring", "tree":
		r.algorithm = algo
	default:
		return "Error : no algorithm/protocol available for function AllReduce with datatype ncclFloat32. NCCL_ALGO was set to " + algo + "."
	}
	if p := strings.ToLower(os.Getenv("NCCL_PROTO")); p != "" {
		r.protocol = p
	}
	if n, err := strconv.Atoi(os.Getenv("NCCL_MAX_NCHANNELS")); err == nil && n <= 16 { // what it has room for
		r.channels = n
	}
	if r.kernel != "" { // it has kernels of all collectives but for those by multicast
		of := map[string]string{"allreduce": "AllReduce_RSxLD_AGxST", "allgather": "AllGather_ST", "reducescatter": "ReduceScatter_LD"}
		r.kernel = of[r.coll]
		if name := os.Getenv("NCCL_SYM_KERNEL"); name != "" {
			r.kernel = name
			if strings.Contains(name, "MC") || strings.Contains(name, "Tma") && os.Getenv("NCCL_SYM_TMA_ENABLE") != "1" {
				r.kernel = ""
			}
		}
		if n, err := strconv.Atoi(os.Getenv("NCCL_SYM_CTAS")); err == nil {
			r.ctas = n
		}
	}
	file := os.Getenv("MSCCL_XML_FILES")
	if dir := os.Getenv("MSCCL_ALGO_DIR"); dir != "" {
		file = filepath.Join(dir, "colltune.xml")
	}
	if text, err := os.ReadFile(file); err == nil && r.fault != "deaf" {
		r.chunks, _ = strconv.Atoi(string(regexp.MustCompile(`nchunksperloop="(\d+)"`).FindSubmatch(text)[1]))
		r.inPlace = strings.Contains(string(text), `inplace="1"`)
	}
	if r.debug {
		for _, e := range os.Environ() {
			if name, value, _ := strings.Cut(e, "="); strings.HasPrefix(name, "NCCL_") && name != "NCCL_NTHREADS" && name != "NCCL_SYM_KERNEL" {
				fmt.Printf("node1:1:1 [0] NCCL INFO %s set by environment to %s.\n", name, value)
			}
		}
		fmt.Printf("node1:1:9 [0] NCCL INFO %d coll channels, 0 collnet channels, 0 nvls channels, 8 p2p channels, 2 p2p channels per peer\n", r.channels)
		if r.chunks > 0 {
			fmt.Println("node1:1:9 [0] NCCL INFO Connected 1 MSCCL algorithms")
		}
	}
	return ""
}

// row prints one size in both placements.
func (r *fakeRun) row(size int64, dtype, op string, root, calls int) {
	count := size / r.elem
	if !r.spec.Reduces() {
		op = "none"
	}
	if !r.spec.Rooted() {
		root = -1
	}
	if r.coll == "alltoall" { // parts of whole 16 bytes
		part := size / r.elem / int64(r.ranks) &^ (16/r.elem - 1)
		size, count = part*int64(r.ranks)*r.elem, part
	}
	fmt.Printf("%12d  %12d  %8s  %6s  %6d", size, count, dtype, op, root)
	for _, inPlace := range []bool{false, true} {
		program := r.chunks > 0 && inPlace == r.inPlace && count%int64(r.chunks) == 0
		if r.debug && !program && r.fault != "silent" && r.spec.Name != "alltoall" {
			for range 3 {
				if r.kernel != "" {
					fmt.Printf("node1:1:1 [0] NCCL INFO %s [Symmetric]: %d Bytes -> Kernel %s nchannels %d nthreads 512 nWorks 1\n", r.coll, size, r.kernel, r.ctas)
					continue
				}
				fmt.Printf("node1:1:1 [0] NCCL INFO %s: %d Bytes -> Algo %s proto %s channel{Lo..Hi}={0..%d}\n", r.coll, size, strings.ToUpper(r.algorithm), strings.ToUpper(r.protocol), r.channels-1)
			}
		}
		us := 10 + float64(size)/1e3/float64(r.channels) // of its own making
		if r.algorithm == "tree" {
			us += 5
		}
		if r.kernel != "" { // it is slow where its CTAs do not divide the data
			us = 5 + float64(size)/1e3/float64(r.ctas)
			if 64%r.ctas != 0 {
				us *= 1.6
			}
		}
		if program {
			us = 7
		}
		if inPlace {
			us++
		}
		wrong := 0
		if r.fault == "wrong" {
			wrong = 3
		}
		algbw := float64(size) / us / 1e3
		fmt.Printf("  %7.2f  %6.2f  %6.2f  %6d", us, algbw, algbw*r.spec.BusFactor(), wrong)
	}
	fmt.Println()
}
