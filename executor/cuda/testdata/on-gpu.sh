#!/bin/sh
# What only a GPU can tell, from the repository's root: `make test-gpu`, or
# on-gpu.sh STAGE… for some of it. Where the machine has no Go, `make gpu-tests`
# elsewhere makes bin/gpu.tar.gz to bring along (bin/gpu is three times as much).
# What is said goes to the folder $OUT (out/gpu), a file a stage, eight files in
# all, and with it, where a stage fails, what the driver and the system say, and
# memcheck of its first program; figures.md and nccl.md there are the pages
# docs/measurements is made of. What takes a process down takes no other's results:
# protocols of the families and parts of the figures have one each.
#
#	stage       most seconds  what
#	nccl        190           NCCL over one GPU and all: every collective, type, reduction
#	families    240           every family on 2, 4, 8 and 16 ranks, three protocols
#	figures     340           copies, a flag's hops, programs small and large, compilers
#	sanitizers  190           memcheck, racecheck, synccheck on a sample
#	search      300           doctor, executor check cuda, search --executor cuda twice
#	profile     200           what ncu says of a large program and a small one
#
# COLLTUNE_GPU_SECONDS (1460) is how long all of it may take: a stage gets what is
# left. COMPUTE_SANITIZER and NCU name the tools where they are not found;
# COLLTUNE_EXECUTOR_LIBNVRTC and COLLTUNE_EXECUTOR_LIBNCCL the libraries.
set -eu
PATH=$PATH:/usr/sbin:/sbin
devices=${COLLTUNE_GPU_DEVICES:-/dev/nvidia[0-9]*} # a pattern
# shellcheck disable=SC2086
if ! ls $devices >/dev/null 2>&1 && ! nvidia-smi -L >/dev/null 2>&1; then
	echo "no NVIDIA GPU here: skipped"
	exit 0
fi
root=$PWD
out=${OUT:-out/gpu}
mkdir -p "$out"
out=$(cd "$out" && pwd)
work=
for place in "${TMPDIR:-/tmp}" /dev/shm /var/tmp "$root" "$out"; do
	work=$(mktemp -d "$place/gpu.XXXXXX" 2>/dev/null) && break
done
[ -n "$work" ] || {
	echo "no folder here can be written to: TMPDIR may name one"
	exit 1
}
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

# Machine code that the driver makes of PTX is kept for the next process, also
# where there is no home.
mkdir "$work/tmp" "$work/code"
export COLLTUNE_GPU=1 COLLTUNE_GPU_OUT="$out" TMPDIR="$work/tmp" CUDA_CACHE_PATH="$work/code"

programs=$root/bin/gpu
if [ -e bin/gpu.tar.gz ] && ! tar -xzf bin/gpu.tar.gz 2>/dev/null; then
	tar -xzf bin/gpu.tar.gz -C "$work" # the repository can't be written to
	programs=$work/bin/gpu
fi
for binary in cuda.test nccl.test colltune; do
	[ -x "$programs/$binary" ] || { make gpu-tests && break; }
done
end=$(($(date +%s) + ${COLLTUNE_GPU_SECONDS:-1460}))
stage_end=$end

# seconds_of a stage.
seconds_of() {
	case $1 in
	nccl | sanitizers) echo 190 ;;
	families) echo 240 ;;
	figures) echo 340 ;;
	search) echo 300 ;;
	*) echo 200 ;;
	esac
}

# left is so many seconds, or what there is.
left() {
	now=$(date +%s)
	most=$((stage_end - now - 5))
	[ "$most" -lt "$1" ] && echo "$most" || echo "$1"
}

# limited SECONDS COMMAND…: no longer than that, or than there is time. A process
# that even being killed does not end, as in a driver that hangs, is left behind.
limited() {
	seconds=$(left "$1")
	shift
	if [ "$seconds" -lt 5 ]; then
		echo "no time is left: not run: $*"
		return 124
	fi
	given_up=$(($(date +%s) + seconds + 15))
	timeout -k 5 "$seconds" "$@" &
	running=$!
	trap 'kill "$running" 2>/dev/null; exit 130' INT TERM
	while kill -0 "$running" 2>/dev/null; do
		if [ "$(date +%s)" -gt "$given_up" ]; then
			echo "can't be ended, left behind after $seconds s: $*"
			return 124
		fi
		sleep 0.2
	done
	ended=0
	wait "$running" || ended=$?
	trap 'exit 130' INT TERM
	[ "$ended" != 124 ] || echo "ended after $seconds s: $*"
	return "$ended"
}

# Where Python's packages and toolkits are, which the linker does not know.
places() {
	for python in python3 /opt/torch/.venv/bin/python3; do
		"$python" -c 'import site; print(*site.getsitepackages(), sep="\n")' 2>/dev/null || true
	done
	ls -d /opt/*/.venv/lib/python3*/site-packages /opt/*/lib/python3*/site-packages /usr/local/lib/python3*/*-packages /usr/lib/python3*/dist-packages 2>/dev/null || true
}

# library FOLDER NAME…: the first that is there, NVIDIA's packages first.
library() {
	places | sort -u | while read -r place; do
		find "$place/nvidia" -name "$1" 2>/dev/null
	done | sort -r | head -n 1
}

if [ -z "${COLLTUNE_EXECUTOR_LIBNVRTC:-}" ]; then
	for found in "$(library 'libnvrtc.so.[0-9]*')" /usr/local/cuda*/lib64/libnvrtc.so /usr/local/cuda*/targets/x86_64-linux/lib/libnvrtc.so; do
		[ -e "$found" ] && export COLLTUNE_EXECUTOR_LIBNVRTC="$found" && break
	done
fi
if [ -z "${COLLTUNE_EXECUTOR_LIBNCCL:-}" ]; then
	for found in "$(library 'libnccl.so.2')" /usr/local/cuda*/lib64/libnccl.so.2; do
		[ -e "$found" ] && export COLLTUNE_EXECUTOR_LIBNCCL="$found" && break
	done
fi
if ! ldconfig -p 2>/dev/null | grep -q 'libcuda\.so\.1'; then
	for found in /usr/local/nvidia/lib64 /usr/local/nvidia/lib /usr/local/cuda/compat; do
		[ -e "$found/libcuda.so.1" ] && export LD_LIBRARY_PATH="$found${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" && break
	done
fi

# tool NAME: its path, on PATH or where NVIDIA puts it.
tool() {
	command -v "$1" && return
	for found in /usr/local/cuda*/bin/"$1" /opt/nvidia/*/*/"$1" /opt/nvidia/*/"$1"; do
		[ -x "$found" ] && [ ! -d "$found" ] && echo "$found" && return
	done
	return 1
}

# tests SECONDS PACKAGE PATTERN [ARGS]: in the package's folder, as `go test` runs
# them. They end by themselves first, and write down what they have seen.
tests() {
	seconds=$(left "$1")
	package=$2 pattern=$3
	shift 3
	[ "$seconds" -ge 20 ] || seconds=20
	(cd "executor/$package" && limited $((seconds + 5)) "$programs/$package.test" -test.run "$pattern" -test.timeout "${seconds}s" "$@")
}

nccl() {
	echo "library: ${COLLTUNE_EXECUTOR_LIBNCCL:-the linker's}"
	limited 20 "$programs/colltune" doctor
	bad=0
	limited 60 "$programs/colltune" executor check nccl || bad=$?
	tests 110 nccl EveryCollectiveOnGPU -test.v || bad=$?
	return $bad
}

# families: after a program that takes the device from its process, or the process
# with it, the next process goes on behind it.
families() {
	bad=0
	export COLLTUNE_GPU_AT="$work/at" COLLTUNE_GPU_FROM
	for protocol in LL LL128 Simple; do
		COLLTUNE_GPU_FROM=0
		while :; do
			rm -f "$work/at"
			tests 75 cuda "EveryFamilyOnGPU/^$protocol\$" && break || bad=$?
			[ -s "$work/at" ] || break
			COLLTUNE_GPU_FROM=$(($(cat "$work/at") + 1))
			echo "going on with $protocol from program $COLLTUNE_GPU_FROM"
		done
	done
	COLLTUNE_GPU_FROM=0
	tests 25 cuda 'DeadlockOnGPU$' || bad=$?
	return $bad
}

figures() {
	echo "NVRTC: ${COLLTUNE_EXECUTOR_LIBNVRTC:-the linker's}"
	rm -f "$out/figures.md"
	bad=0
	for part in device:40 flight:40 hops:35 small:55 compilers:50 tiles:30 large:80; do
		tests "${part#*:}" cuda "FiguresOfGPU/^${part%:*}\$" -test.v || bad=$?
	done
	return $bad
}

sanitizers() {
	sanitizer=${COMPUTE_SANITIZER:-$(tool compute-sanitizer)} || {
		echo "no compute-sanitizer here: its tools are not run"
		return 0
	}
	bad=0
	for tool in memcheck:80 racecheck:50 synccheck:50; do
		echo "compute-sanitizer --tool ${tool%:*}"
		(cd executor/cuda && limited "${tool#*:}" "$sanitizer" --tool "${tool%:*}" --error-exitcode 9 "$programs/cuda.test" -test.run SampleOnGPU -test.timeout 5m -test.v) || bad=$?
	done
	return $bad
}

search() {
	limited 20 "$programs/colltune" doctor || return
	bad=0
	limited 60 "$programs/colltune" executor check cuda || bad=$?
	# One to its end, and one over all families for as long as there is time.
	limited 120 "$programs/colltune" search -t fullmesh:8 -c allreduce -b 1K -e 64M -f 256 --family all-pairs,recursive-doubling --executor cuda -n 10 -w 3 --budget 100s --campaign "$work/few" || bad=$?
	"$programs/colltune" results "$work/few" -o md || bad=1
	limited 100 "$programs/colltune" search -t fullmesh:8 -c allreduce -b 1K -e 64M -f 8 --executor cuda -n 10 -w 3 --budget 75s --campaign "$work/all" || return
	"$programs/colltune" results "$work/all" -o md || return
	refusals "$work/few/trials.jsonl" "$work/all/trials.jsonl"
	echo "== every trial of the first"
	cat "$work/few/trials.jsonl"
	return $bad
}

# refusals is why trials had no result, numbers aside, and how often.
refusals() {
	echo "== trials without a result"
	sed -n 's/.*"outcome":"[^"]*","note":"\(.*\)","seconds.*/\1/p' "$@" | grep -v '^ranks per device' | sed 's/[0-9][0-9.]*/N/g' | sort | uniq -c | sort -rn | head -n 20
}

# What takes the time of a kernel: registers, occupancy, memory, what warps wait for.
profile() {
	ncu=${NCU:-$(tool ncu)} || {
		echo "no ncu here: nothing is profiled"
		return 0
	}
	bad=0
	for what in large:interpret_Simple small:exchange_LL; do
		report=$work/${what%:*}.ncu-rep
		echo "ncu of the ${what%:*} program, ${what#*:}"
		(cd executor/cuda && limited 55 "$ncu" --clock-control none --kernel-name "${what#*:}" --launch-count 1 \
			--section LaunchStats --section Occupancy --section SpeedOfLight --section MemoryWorkloadAnalysis --section WarpStateStats --section SchedulerStats \
			--force-overwrite --export "$report" "$programs/cuda.test" -test.run "ProfileOnGPU/${what%:*}" -test.timeout 5m) || bad=$?
		[ -e "$report" ] || continue
		limited 20 "$ncu" --import "$report" --page details --print-details all || bad=$?
		limited 20 "$ncu" --import "$report" --page raw --csv || bad=$?
	done
	return $bad
}

# evidence is what may tell why a stage failed, to be read elsewhere.
evidence() {
	echo
	echo "== what the machine says"
	uname -a
	cat /proc/driver/nvidia/version 2>/dev/null || true
	# shellcheck disable=SC2086
	ls -l $devices 2>&1 || true
	timeout 20 nvidia-smi 2>&1 | head -n 40 || true
	timeout 20 nvidia-smi -q -d ECC,PAGE_RETIREMENT,CLOCK,PERFORMANCE,COMPUTE 2>&1 | head -n 150 || true
	dmesg 2>/dev/null | grep -iE 'nvrm|xid|nvidia|oom|segfault|traps' | tail -n 40 || true
	ldconfig -p 2>/dev/null | grep -E 'libcuda|libnvrtc|libnccl|libnvidia-ptx' || true
	env | grep -E '^(COLLTUNE|CUDA|NCCL|LD_LIBRARY)' | sort || true
	free -m 2>/dev/null || true
}

# again has memcheck look at the first program of a stage that failed, where that was
# the program's: which access, by which thread, of what kernel. It is slow, and adds
# nothing to the pages.
again() {
	grep -qE 'wrong|CUDA_ERROR|stands still' "$1" || return 0
	name=
	for one in $(sed -n 's/^ *--- FAIL: \(Test[^ ]*\) .*/\1/p' "$1"); do # each before its parts
		[ -z "$name" ] || [ "${one#"$name"/}" != "$one" ] || break
		name=$one
	done
	case $name in */*) ;; *) name= ;; esac
	sanitizer=${COMPUTE_SANITIZER:-$(tool compute-sanitizer)} || return 0
	[ -n "$name" ] || return 0
	echo
	echo "== memcheck on $name"
	pattern="^$(echo "$name" | sed 's,/,$/^,g')\$"
	(cd executor/cuda && export COLLTUNE_GPU_OUT= && limited 60 "$sanitizer" --tool memcheck "$programs/cuda.test" -test.run "$pattern" -test.timeout 5m) || true
}

# card is what the GPU is, and how fast it runs just now.
card() {
	timeout 20 nvidia-smi --query-gpu=name,driver_version,memory.total,memory.free,clocks.sm,clocks.max.sm,clocks.mem,power.draw,temperature.gpu,pstate,compute_mode,mig.mode.current,ecc.mode.current --format=csv 2>&1 || true
}

failed=
summary=
for stage in ${*:-nccl families figures sanitizers search profile}; do
	echo "== $stage"
	# sh has no pipefail: the stage's own end is in a file.
	began=$(date +%s)
	stage_end=$((began + $(seconds_of "$stage")))
	[ "$stage_end" -lt "$end" ] || stage_end=$end
	echo 1 >"$work/end"
	{ card && "$stage" 2>&1 && echo 0 >"$work/end" || echo $? >"$work/end"; } >"$out/$stage.txt"
	[ "$(cat "$work/end")" = 0 ] || {
		failed="$failed $stage"
		stage_end=$(($(date +%s) + 60))
		[ "$stage_end" -lt "$end" ] || stage_end=$end
		evidence >>"$out/$stage.txt" 2>&1
		again "$out/$stage.txt" >"$work/again" 2>&1
		cat "$work/again" >>"$out/$stage.txt"
	}
	said="== $stage took $(($(date +%s) - began)) s, ended with $(cat "$work/end")"
	echo "$said" >>"$out/$stage.txt"
	tail -n 60 "$out/$stage.txt" | sed 's/^\(.\{400\}\).*/\1 …/' || true
	summary="$summary
$said"
done
echo "$summary"
[ -z "$failed" ] || {
	echo "failed:$failed"
	exit 1
}
