#!/bin/sh
# Prints the tables of pccl-machines.md.
#
#	docs/measurements/pccl-machines.sh CLONE FOLDER
#
# CLONE is of github.com/hpcgroup/gpu-benchmarks with the commits of its pull request 13.
# FOLDER keeps the searches, which are not repeated.
set -eu
clone=$1 folder=$2
mkdir -p "$folder"
go build -o bin/colltune ./cmd/colltune
go run ./cmd/accuracy --rows | grep -E '^(perlmutter_nccl|frontier_rccl)_202[45],' | grep -v ' rows,' >"$folder/library.csv"

mpi() { # COLLECTIVE SYSTEM KIND: bytes and us of each of the tests' lines
	for n in 8 16 32 64 128; do
		git -C "$clone" show "92d5eec:mpi/$1/$2/benchmarks/${n}_$3.txt" | sed -n 's/^\( *0: \)\{0,1\}\([0-9]*\) \([0-9.]*\) seconds$/\2 \3/p' |
			awk -v c="$1" -v s="$2" -v n=$n '{ k = c; sub(/-/, "", k); printf "%s %s %d %.0f %.0f\n", s, k, n, $1 * (c == "all-gather" ? n : 1), $2 * 1e6 }'
	done
}
{ mpi all-gather perlmutter gpu; mpi reduce-scatter perlmutter gpu; mpi all-gather frontier gcd; } >"$folder/mpi.txt"

search() { # NAME SYSTEM NODES COLLECTIVE FLAGS...: the winners as NAME.csv
	name=$1 system=$2 nodes=$3 collective=$4
	shift 4
	test -s "$folder/$name.csv" ||
		bin/colltune search -t $system --nodes $nodes -c $collective --dtype bf16 "$@" -q -o csv --out "$folder/$name.csv" --campaign "$folder/$name"
	awk -v s=$system -F, '
		NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
		{ gsub(/"[^"]*"/, ""); print s, $at["collective"], $at["ranks"], $at["size_bytes"], $at["baseline_time_us"], $at["time_us"] }' "$folder/$name.csv"
}
for nodes in 1 2 4 8 16; do # one ring is enough to have the library's time beside it
	search frontier_allgather_$nodes frontier $nodes allgather -b 32M -e 2G -f 8 --family ring -p rings=1 --instances 1 --protocol Simple
done >"$folder/rccl.txt"
for c in allgather reducescatter; do
	for at in 'frontier 4' 'perlmutter 8'; do
		set -- $at
		search pccl_$1_${c}_$2 $1 $2 $c -b 1G -e 1G --family multi-level -p cross=recursive -p local=ring -p groups=1 -p top=recursive --instances 8 --protocol Simple
	done
done >"$folder/pccl.txt"

cat >"$folder/published.txt" <<'END'
frontier allgather 32 1073741824 0.52
frontier reducescatter 32 1073741824 0.55
perlmutter allgather 32 1073741824 0.67
perlmutter reducescatter 32 1073741824 0.67
END

awk '
function size(b) { return b < 2 ^ 30 ? b / 2 ^ 20 " MiB" : b / 2 ^ 30 " GiB" }
function off(ours, theirs) { return sprintf("%+.0f %%", 100 * (ours / theirs - 1)) }
function key(from) { return $from SUBSEP $(from + 1) SUBSEP $(from + 2) SUBSEP $(from + 3) }
FILENAME ~ /mpi.txt$/ { mpi[key(1)] = $5; next }
FILENAME ~ /library.csv$/ {
	split($0, f, ","); split(f[1], name, "_")
	k = name[1] SUBSEP f[2] SUBSEP f[3] * f[4] SUBSEP f[7]
	if (!heads++) print "| rows | collective | GPUs | size | measured, µs | simulated, µs | off by | by | MPI, µs |\n|---|---|--:|--:|--:|--:|--:|---|--:|"
	printf "| %s %s | %s | %d | %s | %.0f | %.0f | %s | %s | %s |\n", name[1], name[3], f[2], f[3] * f[4], size(f[7]), f[8], f[9], off(f[9], f[8]), f[11] ~ /tree/ ? "tree" : "ring", k in mpi ? sprintf("%.0f", mpi[k]) : ""
	next
}
FILENAME ~ /rccl.txt$/ {
	if (!mpis++) print "\n| GPUs | size | MPI, measured, µs | RCCL, simulated, µs | MPI ÷ RCCL |\n|--:|--:|--:|--:|--:|"
	printf "| %d | %s | %.0f | %.0f | %.1f |\n", $3, size($4), mpi[key(1)], $5, mpi[key(1)] / $5
	next
}
FILENAME ~ /pccl.txt$/ { library[key(1)] = $5; pccl[key(1)] = $6; next }
{
	if (!pairs++) print "\n| system | collective | GPUs | size | library, simulated, µs | PCCL, simulated, µs | speedup | published | off by |\n|---|---|--:|--:|--:|--:|--:|--:|--:|"
	k = key(1); ours = library[k] / pccl[k]
	printf "| %s | %s | %d | %s | %.0f | %.0f | %.2f | %s | %s |\n", $1, $2, $3, size($4), library[k], pccl[k], ours, $5, off(ours, $5)
}' "$folder/mpi.txt" "$folder/library.csv" "$folder/rccl.txt" "$folder/pccl.txt" "$folder/published.txt"
