package tuning_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/colltune/colltune/results/tuning"
	"github.com/colltune/colltune/results/tuning/tuningtest"
)

// Readers do what the libraries' do, with files that nobody here wrote.
func TestReaders(t *testing.T) {
	allreduce := tuning.Scope{Collective: "allreduce", Ranks: 8, Nodes: 1, System: "NVIDIA H200"}
	allgather := tuning.Scope{Collective: "allgather", Ranks: 16, Nodes: 2}
	two := tuning.Scope{Collective: "allreduce", Ranks: 2, System: "h200"}
	const example = `{"rules": [
  {"filter": {"collective": "allreduce", "bytesPerRank": "[0,1048576]"}, "config": {"algorithm": "ring", "protocol": "ll128"}},
  {"filter": {"collective": "allgather", "bytesPerRank": "(,2097152)", "nNodes": 2, "nLocalRanks": 8}, "config": {"algorithm": "tree", "protocol": "simple", "channels": 4}},
  {"filter": {"collective": "allreduce", "bytesPerRank": "(1048576,)"}, "config": {"algorithm": "ring", "protocol": "simple", "chunkSize": 524288}}]}`
	const limits = `# as vLLM's source has them
CUSTOM_ALL_REDUCE_MAX_SIZES = {
    "9.0": {
        2: 64 * MiB,  # 64 MB
        8: MiB // 4,  # 256 KB
    },
}
SYMM_MEM_ALL_REDUCE_MAX_SIZES = {
    "9.0": {
        8: 64 * MiB,
    },
}
`
	const store = `{"version": 1, "profiles": [
  {"collectives": {"allreduce": [{"message_size": 1, "algorithm": "any"}], "allgather": {"configs": [{"message_size": 64, "algorithm": "gathers", "nblocks": 8}]}}},
  {"sku": "NVIDIA H200", "scale": 8, "collectives": {"allreduce": [{"message_size": 4096, "algorithm": "b", "nthreads": 512}, {"message_size": 1024, "algorithm": "a", "symmetric_memory": true}]}},
  {"sku": "H100", "collectives": {"allreduce": [{"message_size": 1, "algorithm": "h100"}]}}]}`
	for _, c := range []struct {
		format, text string
		call         tuning.Scope
		bytes        int64
		want         string // kernel protocol channels; "": the library's own choice
	}{
		{"nccl-tuner-csv", "allreduce,0,100,tree,ll,4,1,8", allreduce, 100, "tree LL 4"},
		{"nccl-tuner-csv", "allreduce,0,100,tree,ll,4,1,8", allreduce, 101, ""},
		{"nccl-tuner-csv", "allreduce,0,100,tree,ll,-1,-1,-1", allreduce, 0, "tree LL 1"}, // one channel
		{"rccl-conf", "allreduce,0,100,tree,ll,-1,-1,-1", allreduce, 0, "tree LL 0"},      // RCCL's own number
		{"nccl-tuner-csv", "  allreduce , 0 ,\t100 , tree , ll128 , 4 , 1 , 8 \n", allreduce, 100, "tree LL128 4"},
		{"nccl-tuner-csv", "AllReduce,0,100,Ring,LL,4,1,8", allreduce, 1, "ring Simple 4"}, // names that it does not know
		{"nccl-tuner-csv", "alltoall,0,100,collnet_direct,ll,4,1,8", allreduce, 1, "collnetdirect LL 4"},
		{"nccl-tuner-csv", "allreduce,0,100,tree,ll,4,1", allreduce, 1, ""}, // too few fields
		{"nccl-tuner-csv", "allreduce,0,100,tree,ll,4,1,8,2", allreduce, 1, ""},
		{"nccl-tuner-csv", "allreduce,0,100,tree,ll,4,1,8,1,0", allreduce, 1, "tree LL 4"},
		{"nccl-tuner-csv", "allreduce,0,100,tree,ll,4,1,8,-1,1", allreduce, 1, ""},
		{"nccl-tuner-csv", "# allreduce,0,100,tree,ll,4,1,8\nallreduce,0,1K,ring,ll,2,1,8\nallreduce,0,9,ring,ll,3,1,8", allreduce, 5, "ring LL 3"}, // 1K is 1
		{"nccl-tuner-csv", "allreduce,0,99,tree,ll,4,1,8\nallreduce,0,99,ring,ll,4,1,8", allreduce, 5, "tree LL 4"},                                 // the first
		{"nccl-tuner-csv", strings.Repeat("#", 255) + "allreduce,0,99,tree,ll,4,1,8", allreduce, 5, "tree LL 4"},                                    // a long line is two
		{"nccl-tuner-csv", "allreduce,,0,100,tree,ll,4,1,8", allreduce, 1, "tree LL 4"},                                                             // two commas are one
		{"nccl-tuner-csv", "allreduce,0,100,tree,ll,4,2,8", allreduce, 1, ""},
		{"ncclx-csv", "allreduce,[0,128),ring,ll,-1,*,*", allreduce, 1023, "ring LL 0"},
		{"ncclx-csv", "allreduce,[0,128),ring,ll,-1,*,*", allreduce, 1024, ""},
		{"ncclx-csv", "allreduce,(127,],ring,ll,7,1,8,4096", allreduce, 1024, "ring LL 7"},
		{"ncclx-csv", "allreduce,(127,],ring,ll,7,1,8", allreduce, 1023, ""},
		{"ncclx-csv", "allgather,,nvls_tree,simple,, (1,) ,[8,8]", allgather, 5, "nvlstree Simple 0"},
		{"ncclx-csv", "allgather,5,ring,simple,3,2,8", allgather, 95, "ring Simple 3"},
		{"ncclx-csv", "allgather,5,ring,simple,3,2,8", allgather, 96, ""},
		{"ncclx-csv", "#\n\n allgather,*,ring,simple,3,2,8\nallgather,*,tree,simple,3,2,8", allgather, 1, "ring Simple 3"},
		{"ncclx-json", example, allreduce, 8<<20 + 7, "ring LL128 0"},
		{"ncclx-json", example, allreduce, 8<<20 + 8, "ring Simple 0"},
		{"ncclx-json", example, allgather, 32<<20 - 1, "tree Simple 4"},
		{"ncclx-json", example, allgather, 32 << 20, ""},
		{"vllm", limits, allreduce, 256<<10 - 16, "custom  0"},
		{"vllm", limits, allreduce, 256 << 10, "symm_mem  0"}, // its own limit excludes the size
		{"vllm", limits, allreduce, 256<<10 - 4, "symm_mem  0"},
		{"vllm", limits, allreduce, 64 << 20, "symm_mem  0"}, // that of symmetric memory includes it
		{"vllm", limits, allreduce, 64<<20 + 4, "nccl  0"},
		{"vllm", limits, two, 8<<20 - 16, "custom  0"}, // whatever a larger limit says
		{"vllm", limits, two, 8 << 20, "nccl  0"},
		{"vllm", limits, tuning.Scope{Collective: "allreduce", Ranks: 3, System: "h200"}, 1024, "nccl  0"},
		{"sglang", "export SGLANG_CUSTOM_ALL_REDUCE_V2_MAX_SIZE_KB=64\n", allreduce, 64 << 10, "own  0"},
		{"sglang", "export SGLANG_CUSTOM_ALL_REDUCE_V2_MAX_SIZE_KB=64\n", allreduce, 64<<10 + 16, "nccl  0"},
		{"sglang", "", allreduce, 16 << 20, "own  0"},
		{"sglang", "", allreduce, 16<<20 + 16, "nccl  0"},
		{"sglang", "", allreduce, 1000, "nccl  0"}, // no multiple of 16
		{"sglang", "SGLANG_CUSTOM_ALL_REDUCE_V2_MAX_SIZE_KB=0", allreduce, 1024, "own  0"},
		{"sglang", "SGLANG_FORCE_CUSTOM_ALL_REDUCE_V2_PUSH_SIZE_KB=2\nSGLANG_FORCE_CUSTOM_ALL_REDUCE_V2_PULL_SIZE_KB=4", allreduce, 2048, "1shot_push  0"},
		{"mscclpp-tuning", store, allreduce, 1, "a  0"}, // below the first, the first
		{"mscclpp-tuning", store, allreduce, 4095, "a  0"},
		{"mscclpp-tuning", store, allreduce, 4096, "b  0"},
		{"mscclpp-tuning", store, allreduce, 1 << 40, "b  0"},
		{"mscclpp-tuning", store, tuning.Scope{Collective: "allreduce", Ranks: 4, System: "h100_sxm"}, 9, "h100  0"}, // a GPU before any
		{"mscclpp-tuning", store, tuning.Scope{Collective: "allreduce", Ranks: 4}, 9, "any  0"},
		{"mscclpp-tuning", store, allgather, 9, "gathers  8"},
		{"mscclpp-tuning", store, tuning.Scope{Collective: "alltoall", Ranks: 4}, 9, ""},
		{"nccl-sym-env", "export NCCL_SYM_KERNEL=AllReduce_AGxLL_R\nexport NCCL_SYM_CTAS=100\n", allreduce, 5, "AllReduce_AGxLL_R  64"},
		{"nccl-sym-env", "export NCCL_SYM_KERNEL=AllReduce_AGxLL_R\n", allgather, 5, ""},
		{"nccl-sym-env", "export NCCL_SYM_KERNEL=AllReduce_RSxTmaLD_AGxTmaST\n", allreduce, 5, ""}, // not enabled
		{"nccl-sym-env", "export NCCL_SYM_KERNEL=AllReduce\n", allreduce, 5, ""},
		{"nccl-sym-env", "export NCCL_SYM_KERNEL=allreduce:AllReduce_AGxLL_R\n", allreduce, 5, "AllReduce_AGxLL_R  0"},
		{"nccl-sym-env", "export NCCL_SYM_KERNEL=allgather:AllReduce_AGxLL_R\n", allreduce, 5, ""},
		{"mcr-dl", "# all_gather\nworld_size,message_bytes,backend\n16,256,mpi\n16,4096,nccl\n", allgather, 65535, "mpi"},
		{"mcr-dl", "# all_gather\nworld_size,message_bytes,backend\n16,256,mpi\n16,4096,nccl\n", allgather, 65536, "nccl"},
	} {
		reader, err := readText(c.format, c.text)
		if err != nil {
			t.Errorf("%s: %q: %v", c.format, c.text, err)
			continue
		}
		got := ""
		if x, ok := reader.Choose(c.call, c.bytes); ok && c.format == "mcr-dl" {
			got = x.Library
		} else if ok {
			got = answer(x)
		}
		if got != c.want {
			t.Errorf("%s: %q: %s at %d: %q, want %q", c.format, c.text, c.call, c.bytes, got, c.want)
		}
	}
}

func answer(c tuning.Config) string { return fmt.Sprintf("%s %s %d", c.Kernel, c.Protocol, c.Channels) }

func readText(format, text string) (tuningtest.Reader, error) {
	f, err := tuning.Named(format)
	if err != nil {
		return nil, err
	}
	return tuningtest.Read(f.Name, "f", []byte(text))
}

// A file that its library would refuse is refused, with its line.
func TestReadersRefuse(t *testing.T) {
	for _, c := range []struct{ format, text, want string }{
		{"ncclx-csv", "# rules\nallreduce,*,ring,ll,-1,*", "f:2: 6 fields: want at least 7"},
		{"ncclx-csv", "all_reduce,*,ring,ll,-1,*,*", "f:1:"},
		{"ncclx-csv", "allreduce,*,Ring,ll,-1,*,*", "f:1:"},
		{"ncclx-csv", "allreduce,(2,1],ring,ll,-1,*,*", "f:1:"},
		{"ncclx-csv", "allreduce,[1;2],ring,ll,-1,*,*", "f:1:"},
		{"ncclx-csv", "allreduce,*,ring,ll,99999999999,*,*", "f:1:"},
		{"ncclx-csv", "allreduce,*,ring,ll,1,*,*,-1", "f:1:"},
		{"ncclx-json", "{}", "f:1: has no array rules"},
		{"ncclx-json", "{\n\"rules\": [}", "f:2:"},
		{"ncclx-json", `{"rules": [{"filter": {"collective": "allreduce"}, "config": {"algorithm": "ring", "protocol": "ll", "channels": [4]}}]}`, "rules[0]"},
		{"ncclx-json", `{"rules": [{"collective": "allreduce", "algorithm": "ring", "protocol": "ll"}]}`, "rules[0]"},
		{"mscclpp-tuning", "[]", "f:1:"},
		{"mscclpp-tuning", `{"version": 1}`, "f:1: has no list profiles"},
		{"mscclpp-tuning", `{"profiles": [{"scale": 0}]}`, "scale 0"},
		{"mscclpp-tuning", `{"profiles": [{"collectives": {"allreduce": [{"message_size": 0, "algorithm": "a"}]}}]}`, "positive message_size"},
		{"mscclpp-tuning", `{"profiles": [{"collectives": {"allreduce": [{"message_size": 1, "algorithm": "a"}, {"message_size": 1, "algorithm": "b"}]}}]}`, "two entries of message_size 1"},
		{"vllm", "CUSTOM_ALL_REDUCE_MAX_SIZES = {\n    \"9.0\": {\n        8: f(),\n", "f:3:"},
		{"vllm", "CUSTOM_ALL_REDUCE_MAX_SIZES = {\n", "does not end"},
		{"vllm", "import os\n", "f:1:"},
		{"sglang", "export SGLANG_CUSTOM_ALL_REDUCE_V2_MAX_SIZE_KB=many\n", "want a whole number"},
		{"sglang", "rm -rf /\n", "f:1: \"rm -rf /\": want export NAME=VALUE"},
		{"nccl-sym-env", "NCCL_SYM_KERNEL\n", "f:1:"},
		{"mcr-dl", "world_size,message_bytes,backend\n", "names an operation"},
		{"mcr-dl", "# all_reduce\nworld_size,bytes,backend\n", "f:2: want the columns"},
		{"mcr-dl", "# all_reduce\nworld_size,message_bytes,backend\n8,1024,nccl\n8,512,nccl\n", "f:4:"},
		{"mcr-dl", "# all_reduce\nworld_size,message_bytes,backend\n8,1024\n", "f:3:"},
		{"json", `{"schema": "colltune.tuning/v2"}`, "f:1: is of"},
	} {
		if _, err := readText(c.format, c.text); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %q: %v, want %s", c.format, c.text, err, c.want)
		}
	}
}

// oracle asks the program that COLLTUNE_TUNER_ORACLES has for a format: a library's own reader,
// given FILE NODES RANKS SYSTEM and, on standard input, a line COLLECTIVE BYTES a question. It
// answers each with a line KERNEL PROTOCOL CHANNELS in the file's spelling, or -, and a file
// that it refuses with an exit code that is not 0.
func oracle(t *rapid.T, program, file string, call tuning.Scope, bytes []int64) (answers []string, refused bool) {
	cmd := exec.Command(program, file, fmt.Sprint(call.Nodes), fmt.Sprint(call.Ranks), call.System)
	var ask strings.Builder
	for _, n := range bytes {
		fmt.Fprintln(&ask, call.Collective, n)
	}
	cmd.Stdin = strings.NewReader(ask.String())
	out, err := cmd.Output()
	if err != nil {
		return nil, true
	}
	for s := bufio.NewScanner(strings.NewReader(string(out))); s.Scan(); {
		answers = append(answers, s.Text())
	}
	if len(answers) != len(bytes) {
		t.Fatalf("%s: %d answers to %d questions: %s", program, len(answers), len(bytes), out)
	}
	return answers, false
}

// The libraries' own readers agree with ours, on files of ours and on faulty ones.
func TestOracles(t *testing.T) {
	dir := os.Getenv("COLLTUNE_TUNER_ORACLES")
	if dir == "" || os.Getenv("COLLTUNE_LONG") == "" {
		t.Skip("COLLTUNE_TUNER_ORACLES names no folder of the libraries' own readers, or COLLTUNE_LONG is not set")
	}
	faults := strings.NewReplacer("[", "(", "]", ")", "ring", "Ring", ",1,", ",*,", "8", " 8 ")
	for i := range tuning.Formats {
		f := &tuning.Formats[i]
		program := filepath.Join(dir, f.Name)
		if _, err := os.Stat(program); err != nil {
			continue
		}
		t.Run(f.Name, func(t *testing.T) {
			folder, asked := t.TempDir(), 0
			rapid.Check(t, func(t *rapid.T) {
				rules := drawRules(t, f)
				files, _ := f.Write(rules, tuning.Options{Head: []string{"made by a test"}})
				content := string(files[0].Text)
				if lines := strings.SplitAfter(content, "\n"); rapid.IntRange(0, 3).Draw(t, "fault") == 0 {
					n := rapid.IntRange(0, len(lines)-1).Draw(t, "line")
					lines[n] = faults.Replace(lines[n])
					content = strings.Join(lines, "")
				}
				file := filepath.Join(folder, files[0].Name)
				if err := os.WriteFile(file, []byte(content), 0o666); err != nil {
					t.Fatal(err)
				}
				reader, err := tuningtest.Read(f.Name, file, []byte(content))
				for _, r := range rules {
					var at []int64
					for _, n := range []int64{1, r.First - 1, r.First, r.First + 1, r.Last - 1, r.Last, r.Last + 1, 1 << 40} {
						at = append(at, max(n, 1))
					}
					answers, refused := oracle(t, program, file, r.Scope, at)
					if refused != (err != nil) {
						t.Fatalf("the library refuses it: %v; we: %v\n%s", refused, err, content)
					}
					for i, want := range answers {
						got := "-"
						if c, ok := reader.Choose(r.Scope, at[i]); ok {
							got = answer(c)
						}
						asked++
						if got != want {
							t.Fatalf("%s at %d: the library says %q, we %q\n%s", r.Scope, at[i], want, got, content)
						}
					}
				}
			})
			t.Logf("%d answers are equal", asked)
		})
	}
}

// FuzzReaders gives every reader any bytes: it answers or refuses, with the file's name.
func FuzzReaders(f *testing.F) {
	for i, format := range tuning.Formats {
		kind := kinds[format.Name]
		rule := tuning.Rule{Scope: kind.scopes[0], First: 1024, Last: 4095, Config: kind.configs[0]}
		files, _ := format.Write([]tuning.Rule{rule}, tuning.Options{Head: []string{"made by a test"}})
		f.Add(uint8(i), files[0].Text)
	}
	f.Fuzz(func(t *testing.T, i uint8, text []byte) {
		format := &tuning.Formats[int(i)%len(tuning.Formats)]
		reader, err := tuningtest.Read(format.Name, "file", text)
		if err != nil {
			if !strings.Contains(err.Error(), "file:") {
				t.Fatalf("%s: %v: want the file's name and a line", format.Name, err)
			}
			return
		}
		for _, scope := range kinds[format.Name].scopes {
			for _, bytes := range []int64{0, 1, 1024, 4096, 1 << 62} {
				reader.Choose(scope, bytes)
			}
		}
		reader.Choose(tuning.Scope{}, 1)
	})
}
