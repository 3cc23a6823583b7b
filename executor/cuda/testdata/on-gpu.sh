#!/bin/sh
# What only a GPU can tell, from the repository's root: `make test-gpu`. Where
# the machine has no Go, `make gpu-tests` elsewhere makes bin/ to bring along.
set -eu
if ! ls /dev/nvidia[0-9]* >/dev/null 2>&1; then
	echo "no NVIDIA GPU here: skipped"
	exit 0
fi
[ -x bin/cuda.test ] && [ -x bin/colltune ] || make gpu-tests
nvidia-smi -L || true
root=$PWD
cd executor/cuda

echo "== every family on 2, 4, 8 and 16 ranks, three protocols"
COLLTUNE_GPU=1 "$root/bin/cuda.test" -test.run "FamilyOnGPU|DeadlockOnGPU$" -test.timeout 20m "$@"

echo "== figures"
COLLTUNE_GPU=1 "$root/bin/cuda.test" -test.run FiguresOfGPU -test.v -test.timeout 10m

if command -v compute-sanitizer >/dev/null; then
	for tool in memcheck racecheck synccheck; do
		echo "== compute-sanitizer --tool $tool"
		COLLTUNE_GPU=1 compute-sanitizer --tool "$tool" --error-exitcode 9 "$root/bin/cuda.test" -test.run SampleOnGPU -test.timeout 10m
	done
else
	echo "no compute-sanitizer here: its tools are not run"
fi

cd "$root"
echo "== a search"
camp=$(mktemp -d)
./bin/colltune executor check cuda
./bin/colltune search -t fullmesh:8 -c allreduce -b 1K -e 64M -f 8 --executor cuda -n 10 -w 3 --campaign "$camp/c"
