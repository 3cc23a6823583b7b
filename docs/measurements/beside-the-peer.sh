#!/bin/sh
# Compiles the programs of compiler.md here and in msccl-tools, in turn, and
# prints processor seconds and the largest resident set of each process.
#
#	docs/measurements/beside-the-peer.sh FOLDER-OF-MSCCL-TOOLS [TURNS [NAME]]
#
# Ours is the benchmark's process: it traces and compiles one program, once, and
# verifies nothing, as the peer does not. The peer also writes XML. It is stopped
# at 150 processor seconds.
set -eu
peer=$1 turns=${2:-2} only=${3:-}
tests=$(mktemp) out=$(mktemp)
trap 'rm -f "$tests" "$out"' EXIT
CGO_ENABLED=0 go test -trimpath -c -o "$tests" ./compiler

both() { # NAME-OF-BENCHMARK SCRIPT ARGUMENTS…
	name=$1 script=$2
	shift 2
	case $name in *"$only"*) ;; *) return ;; esac
	for turn in $(seq "$turns"); do
		/usr/bin/time -o "$out" -f '%U %S %M' "$tests" -test.run '^$' -test.bench "^BenchmarkCompile$/^$name$" -test.benchtime 1x |
			awk -v name="$name" '/peak-MB/ { for (i = 1; i < NF; i++) { if ($(i+1) == "trace-s") t = $i; if ($(i+1) == "compile-s") c = $i }
				printf "%s: ours: %.3f s to trace and compile; ", name, t + c }'
		awk '{ printf "process %.2f s, %d MB\n", $1 + $2, $3 / 1000 }' "$out"
		(ulimit -t 150 && PYTHONPATH=$peer exec /usr/bin/time -o "$out" -f '%U %S %M' \
			/usr/bin/python3 "$peer/examples/mscclang/$script" "$@" >/dev/null 2>&1) || true
		awk -v name="$name" 'END { printf "%s: peer: process %.2f s, %d MB%s\n", name, $1 + $2, $3 / 1000, ($1 + $2 > 148) ? ", stopped" : "" }' "$out"
	done
}

both two-step-alltoall-16x8 alltoall_a100_two_step.py 16 8
both two-step-alltoall-32x8 alltoall_a100_two_step.py 32 8
both ring-allreduce-64-ranks-8-channels allreduce_a100_ring.py 64 8 1
both all-pairs-allreduce-16-ranks-R²-chunks allreduce_a100_allpairs.py 16 1
both halving-doubling-allreduce-64-ranks allreduce_recursive_doubling_halving.py 64 1
turns=1
both ring-allreduce-128-ranks-8-channels allreduce_a100_ring.py 128 8 1
both halving-doubling-allreduce-128-ranks allreduce_recursive_doubling_halving.py 128 1
both all-pairs-allreduce-32-ranks-R²-chunks allreduce_a100_allpairs.py 32 1
