package cuda

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// What testdata/on-gpu.sh is to find on a machine: programs that say how they
// were called, and do what ON_GPU_FAULT says.
var standIns = map[string]string{
	"bin/gpu/cuda.test": `#!/bin/sh
echo "cuda.test $* in ${PWD##*/}, NVRTC ${COLLTUNE_EXECUTOR_LIBNVRTC##*/}"
case "$ON_GPU_FAULT $*" in
families*FamilyOnGPU*) printf -- '--- FAIL: TestEveryFamilyOnGPU (1.00s)\n    --- FAIL: TestEveryFamilyOnGPU/LL (1.00s)\n        --- FAIL: TestEveryFamilyOnGPU/LL/ring/allreduce/1x2 (0.10s)\n            gpu_test.go:84: 3 wrong elements\n        --- FAIL: TestEveryFamilyOnGPU/LL/tree/allreduce/1x2 (0.10s)\n'; exit 1;;
slow*FamilyOnGPU*) exec sleep 600;;
lost*/^LL\$*)
	echo "from program $COLLTUNE_GPU_FROM"
	[ "$COLLTUNE_GPU_FROM" != 0 ] || { echo 6 > "$COLLTUNE_GPU_AT"; exit 2; };;
parts*/^hops\$*) echo "panic: lost"; exit 2;;
esac
case "$*" in *Figures*) [ -z "$COLLTUNE_GPU_OUT" ] || echo "| a figure of $2 |" >> "$COLLTUNE_GPU_OUT/figures.md";; esac
echo "for a while in ${TMPDIR%/*}, code in ${CUDA_CACHE_PATH%/*}"
`,
	"bin/gpu/nccl.test": `#!/bin/sh
echo "nccl.test $* in ${PWD##*/}, NCCL $COLLTUNE_EXECUTOR_LIBNCCL"
echo "| a collective |" > "$COLLTUNE_GPU_OUT/nccl.md"
`,
	"bin/gpu/colltune": `#!/bin/sh
echo "colltune $*"
case "$ON_GPU_FAULT $1" in
"search search") echo "colltune: the executor was lost" >&2; exit 6;;
esac
`,
	"path/nvidia-smi":        "#!/bin/sh\necho \"nvidia-smi $*\"\n",
	"path/python3":           "#!/bin/sh\nexit 127\n",
	"path/compute-sanitizer": "#!/bin/sh\necho \"compute-sanitizer $*, pages in ${COLLTUNE_GPU_OUT:-no folder}\"\n",
	"path/ncu": `#!/bin/sh
echo "ncu $*"
previous=
for word in "$@"; do
	[ "$previous" != --export ] || echo report > "$word"
	previous=$word
done
`,
}

// TestOnGPU runs the script where programs stand in for all that it calls: no
// time with a GPU is to be lost to a mistake in it.
func TestOnGPU(t *testing.T) {
	for _, tool := range []string{"sh", "timeout", "mktemp", "find", "tar"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip(err)
		}
	}
	script, err := filepath.Abs("testdata/on-gpu.sh")
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		stages    string
		fault     string
		seconds   string            // in all
		gone      []string          // of what else is there
		unless    string            // files of this machine that would be found instead
		want      map[string]string // in a file, by its name; "" is what the script prints
		packed    bool
		temporary string // a folder that is not there
		files     int
		failed    bool
	}{
		"all": {files: 8, want: map[string]string{
			"nccl.txt":       "nccl.test -test.run EveryCollectiveOnGPU -test.timeout 110s -test.v in nccl, NCCL /",
			"families.txt":   "cuda.test -test.run EveryFamilyOnGPU/^LL128$ -test.timeout 75s in cuda",
			"figures.txt":    "cuda.test -test.run FiguresOfGPU/^large$ -test.timeout 80s -test.v in cuda, NVRTC libnvrtc.so.13",
			"figures.md":     "| a figure of FiguresOfGPU/^hops$ |",
			"nccl.md":        "| a collective |",
			"sanitizers.txt": "compute-sanitizer --tool synccheck --error-exitcode 9 ",
			"search.txt":     "colltune results ",
			"profile.txt":    "--page raw --csv",
			"":               "\n== nccl took ",
		}},
		"packed":       {stages: "figures", packed: true, files: 2, want: map[string]string{"figures.md": "| a figure of FiguresOfGPU/^device$ |"}},
		"one stage":    {stages: "figures", files: 2, want: map[string]string{"figures.txt": "ended with 0"}},
		"no GPU":       {unless: "/usr/bin/nvidia-smi", gone: []string{"dev/nvidia0", "path/nvidia-smi"}, want: map[string]string{"": "no NVIDIA GPU here: skipped"}},
		"only a tool":  {stages: "figures", gone: []string{"dev/nvidia0"}, files: 2},
		"no tools":     {unless: "/usr/local/cuda*/bin/*", stages: "sanitizers profile", gone: []string{"path/compute-sanitizer", "path/ncu"}, files: 2, want: map[string]string{"profile.txt": "no ncu here", "sanitizers.txt": "no compute-sanitizer here"}},
		"no libraries": {stages: "nccl", gone: []string{"site/nvidia"}, files: 2, want: map[string]string{"nccl.txt": "library: "}},
		"a stage that fails": {stages: "families figures", fault: "families", files: 3, failed: true, want: map[string]string{
			"families.txt": "compute-sanitizer --tool memcheck ", "figures.txt": "ended with 0", "": "failed: families\n",
		}},
		"a program that fails": {stages: "families", fault: "families", files: 1, failed: true, want: map[string]string{
			"families.txt": "cuda.test -test.run ^TestEveryFamilyOnGPU$/^LL$/^ring$/^allreduce$/^1x2$ -test.timeout 5m, pages in no folder\n", "": "== what the machine says",
		}},
		"a lost device": {stages: "families", fault: "lost", files: 1, failed: true, want: map[string]string{
			"families.txt": "going on with LL from program 7\ncuda.test -test.run EveryFamilyOnGPU/^LL$ -test.timeout 75s in cuda, NVRTC libnvrtc.so.13\nfrom program 7\n",
		}},
		"a part that ends its process": {stages: "figures", fault: "parts", files: 2, failed: true, want: map[string]string{"figures.md": "| a figure of FiguresOfGPU/^large$ |"}},
		"nowhere but here":             {stages: "families", temporary: "none", files: 1, want: map[string]string{"families.txt": "for a while in "}},
		"a stage that hangs":           {stages: "families", fault: "slow", seconds: "11", files: 1, failed: true, want: map[string]string{"families.txt": "ended with 124"}},
		"no time":                      {stages: "families", seconds: "3", files: 1, failed: true, want: map[string]string{"families.txt": "no time is left: not run: "}},
		"a lost executor":              {stages: "search", fault: "search", files: 1, failed: true, want: map[string]string{"search.txt": "ended with 6"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if found, _ := filepath.Glob(tc.unless); len(found) > 0 {
				t.Skipf("%s is here", found[0])
			}
			root := t.TempDir()
			put := func(file, text string) {
				file = filepath.Join(root, file)
				if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o755)); err != nil {
					t.Fatal(err)
				}
			}
			for file, text := range standIns {
				put(file, text)
			}
			put("path/python3", "#!/bin/sh\necho "+filepath.Join(root, "site")+"\n")
			for _, file := range []string{"dev/nvidia0", "executor/cuda/doc.go", "executor/nccl/doc.go", "site/nvidia/cu13/lib/libnvrtc.so.13", "site/nvidia/cu13/lib/libnvrtc-builtins.so.13.0", "site/nvidia/nccl/lib/libnccl.so.2"} {
				put(file, "")
			}
			for _, file := range tc.gone {
				if err := os.RemoveAll(filepath.Join(root, file)); err != nil {
					t.Fatal(err)
				}
			}
			if tc.packed {
				if said, err := exec.Command("sh", "-c", `cd "$0" && tar -czf bin/gpu.tar.gz bin/gpu && rm -r bin/gpu`, root).CombinedOutput(); err != nil {
					t.Fatalf("%v: %s", err, said)
				}
			}
			out := filepath.Join(root, "out")
			cmd := exec.Command("sh", append([]string{script}, strings.Fields(tc.stages)...)...)
			cmd.Dir = root
			cmd.Env = []string{
				"PATH=" + filepath.Join(root, "path") + ":" + os.Getenv("PATH"), "OUT=" + out, "TMPDIR=" + t.TempDir(), "ON_GPU_FAULT=" + tc.fault,
				"COLLTUNE_GPU_DEVICES=" + filepath.Join(root, "dev", "nvidia[0-9]*"),
			}
			if tc.temporary != "" {
				cmd.Env = append(cmd.Env, "TMPDIR="+filepath.Join(root, tc.temporary))
			}
			if tc.seconds != "" {
				cmd.Env = append(cmd.Env, "COLLTUNE_GPU_SECONDS="+tc.seconds)
			}
			said, err := cmd.CombinedOutput()
			if (err != nil) != tc.failed {
				t.Errorf("%v, failed: want %v", err, tc.failed)
			}
			files, _ := filepath.Glob(filepath.Join(out, "*"))
			if len(files) != tc.files {
				t.Errorf("files %v, want %d", files, tc.files)
			}
			for file, want := range tc.want {
				text := string(said)
				if file != "" {
					b, _ := os.ReadFile(filepath.Join(out, file))
					text = string(b)
				}
				if !strings.Contains(text, want) {
					t.Errorf("%q does not say %q:\n%s", file, want, text)
				}
			}
			if strings.Contains(string(said), "not found") || strings.Contains(string(said), "on-gpu.sh: ") {
				t.Errorf("a mistake in the script:\n%s", said)
			}
		})
	}
}
