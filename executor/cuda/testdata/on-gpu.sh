#!/bin/sh
# What only a GPU can tell, from the repository's root: `make test-gpu`, or
# on-gpu.sh STAGE… for some of it. Where the machine has no Go, `make gpu-tests`
# elsewhere makes bin/gpu to bring along. What is said goes to the folder $OUT
# (out/gpu), a file a stage; figures.md there is the page docs/measurements/cuda.md
# is made of. No stage takes more than six minutes. COMPUTE_SANITIZER names the
# tool where it is not on PATH.
set -eu
if ! ls /dev/nvidia[0-9]* >/dev/null 2>&1; then
	echo "no NVIDIA GPU here: skipped"
	exit 0
fi
[ -x bin/gpu/cuda.test ] && [ -x bin/gpu/colltune ] || make gpu-tests
root=$PWD
out=${OUT:-out/gpu}
mkdir -p "$out"
out=$(cd "$out" && pwd)
export COLLTUNE_GPU=1 COLLTUNE_GPU_OUT="$out"

# NVRTC where Python's packages or a toolkit have it and the linker does not look.
if [ -z "${COLLTUNE_EXECUTOR_LIBNVRTC:-}" ]; then
	for f in /usr/local/cuda*/lib64/libnvrtc.so /usr/local/cuda*/targets/x86_64-linux/lib/libnvrtc.so $(python3 -c 'import glob, site
for folder in site.getsitepackages():
    print(*[f for f in glob.glob(folder + "/nvidia/**/libnvrtc.so*", recursive=True)])' 2>/dev/null); do
		[ -e "$f" ] && export COLLTUNE_EXECUTOR_LIBNVRTC="$f" && break
	done
fi

of_tests() { # PATTERN [ARGS]: in the package's folder, as `go test` runs them
	pattern=$1
	shift
	(cd executor/cuda && timeout 360 "$root/bin/gpu/cuda.test" -test.run "$pattern" -test.timeout 6m "$@")
}

families() { of_tests 'FamilyOnGPU|DeadlockOnGPU$'; }

figures() { of_tests FiguresOfGPU -test.v; }

sanitizers() {
	sanitizer=${COMPUTE_SANITIZER:-compute-sanitizer}
	if ! command -v "$sanitizer" >/dev/null; then
		echo "no $sanitizer here: its tools are not run"
		return
	fi
	bad=0
	for tool in memcheck racecheck synccheck; do
		echo "compute-sanitizer --tool $tool"
		(cd executor/cuda && timeout 120 "$sanitizer" --tool "$tool" --error-exitcode 9 "$root/bin/gpu/cuda.test" -test.run SampleOnGPU -test.timeout 110s) || bad=$?
	done
	return $bad
}

search() {
	./bin/gpu/colltune doctor &&
		./bin/gpu/colltune executor check cuda || return
	rm -rf "$out/campaign"
	timeout 300 ./bin/gpu/colltune search -t fullmesh:8 -c allreduce -b 1K -e 64M -f 8 --executor cuda -n 10 -w 3 --campaign "$out/campaign" || return
	./bin/gpu/colltune results "$out/campaign" -o md
	rm -rf "$out/campaign"
}

nvidia-smi -L || true
failed=
for stage in ${*:-families figures sanitizers search}; do
	echo "== $stage"
	# sh has no pipefail: the stage's own end is in a file.
	{ "$stage" 2>&1 && echo 0 || echo $?; } >"$out/$stage.txt"
	end=$(tail -n 1 "$out/$stage.txt")
	sed '$d' "$out/$stage.txt"
	[ "$end" = 0 ] || failed="$failed $stage"
done
[ -z "$failed" ] || {
	echo "failed:$failed"
	exit 1
}
