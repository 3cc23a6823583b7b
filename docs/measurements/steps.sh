#!/bin/sh
# docs/measurements/steps.sh FOLDER [H200]: the figures of docs/measurements/steps.md, as CSV
# files in FOLDER; those that are there are not made again. H200 is a folder
# with aiconfigurator's rows: h200_sxm.csv, h200_sxm_deepep_normal.csv and
# h200_sxm_deepep_low_latency.csv. It takes some 10 minutes on one core.
set -eu
folder=$1 h200=${2:-}
mkdir -p "$folder"
step() { # NAME ARGS...: a step's cases as NAME.csv
	name=$1; shift
	test -s "$folder/$name.csv" || bin/colltune workload "$@" -q -o csv --out "$folder/$name.csv"
}
pccl() { # SYSTEM NODES GPUS COLLECTIVE INSTANCES: PCCL's own algorithm at 300 and 600 MiB
	rows="$folder/pccl-$1-$4-$2.csv"
	test -s "$rows" && return
	bin/colltune compile multi-level -t "$1" --nodes "$2" -c "$4" -p cross=recursive -p local=ring -p groups=1 -p top=recursive --instances "$5" -q --out "$folder/program.json"
	bin/colltune run "$folder/program.json" -t "$1" --nodes "$2" --protocol Simple -b 300M -e 600M -n 1 -w 0 -q -o csv |
		awk -F, -v OFS=, -v name="$1" -v nodes="$2" -v ranks=$(($2 * $3)) -v c="$4" \
			'NR == 1 { print "collective,ranks,nodes,bytes,dtype,library,system,kernel,evidence,time_us"; next }
			{ print c, ranks, nodes, $1, "f16", "pccl", name, "multi-level", "simulated", $7 }' > "$rows.new"
	mv "$rows.new" "$rows"
}

# MCR-DL's models on its systems.
step ds-moe ds-moe -t lassen --simulate nccl,mpi --ranks 8,16,32,64,128,256
step dlrm dlrm -t thetagpu --simulate nccl,mpi --ranks 8,16,32
step megatron-dense megatron-dense -t thetagpu --simulate nccl,mpi --ranks 8,16,32
step resnet-50 resnet-50 -t lassen --simulate nccl,mpi --ranks 8,64,256

# PCCL's figure 12.
for c in allgather reducescatter; do
	for nodes in 16 32 64 128; do pccl frontier $nodes 8 $c 8; done
	pccl frontier 256 8 $c 4
	for nodes in 64 128 256; do pccl perlmutter $nodes 4 $c 4; done
done
for system in frontier perlmutter; do
	set --
	for f in "$folder"/pccl-$system-*.csv; do set -- "$@" --library "$f"; done
	bin/colltune table build "$@" -q --out "$folder/pccl-$system.table"
	# RCCL and NCCL as PCCL's figures 9 and 11 have them: so many times PCCL's time.
	awk -F, -v OFS=, -v system_="$system" '
		BEGIN { r["frontier 2048"] = 11.4; r["perlmutter 1024"] = 2.5 }
		FNR == 1 { if (NR == 1) print; next }
		r[system_ " " $2] { $6 = "published"; $10 *= r[system_ " " $2]; print }' "$folder"/pccl-$system-*.csv > "$folder/published-$system.csv"
	bin/colltune table build "$@" --library "$folder/published-$system.csv" -q --out "$folder/published-$system.table"
	library=rccl ranks=128,256,512,1024,2048 flags=
	test $system = frontier || library=nccl ranks=256,512,1024 flags='-p gpus=4 -p teraflops=120'
	for model in 7b 13b; do
		step zero3-$model-$system zero3-$model -t $system --simulate $library --fallback $library --table "$folder/pccl-$system.table" --ranks $ranks $flags
	done
done
for model in 7b 13b; do
	step zero3-$model-published-frontier zero3-$model --table "$folder/published-frontier.table" --ranks 2048
	step zero3-$model-published-perlmutter zero3-$model --table "$folder/published-perlmutter.table" --ranks 1024 -p gpus=4 -p teraflops=120
done
step ddp-frontier ddp -t frontier --simulate rccl --ranks 128,256,512,1024,2048
step ddp-perlmutter ddp -t perlmutter --simulate nccl --ranks 256,512,1024 -p gpus=4 -p teraflops=120

# An inference layer on H200, of measured rows.
if test -n "$h200"; then
	bin/colltune table build --library "$h200/h200_sxm.csv,nodes=1" --library "$h200/h200_sxm_deepep_normal.csv,ranks=8" \
		--library "$h200/h200_sxm_deepep_low_latency.csv,ranks=8" --out "$folder/h200.table" -q
	step moe-inference moe-inference --table "$folder/h200.table"
	step moe-inference-newest moe-inference --table "$folder/h200.table" --use "nccl 2.29.2,vllm 0.24.0,sglang 0.5.14,trtllm 1.3.0rc20,deepep" 
	bin/colltune workload moe-inference --table "$folder/h200.table" --use "nccl 2.29.2,vllm 0.24.0,sglang 0.5.14,trtllm 1.3.0rc20,deepep" --calls -q -o csv --out "$folder/moe-inference-calls.csv"
	step moe-nothing moe-inference --table "$folder/h200.table" --use "nccl 2.29.2"
fi
