#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tests/fuzz/corpus.sh FOLDER: what each fuzzer begins with, FOLDER/NAME for NAME_fuzz, from this repository's own small inputs.
set -euo pipefail
folder=${1:?a folder}
here=$(cd "$(dirname "$0")/../.." && pwd)
mkdir -p "$folder"/{chakra,vcd,platform,edges,memory_trace,text_workload,astra}

cp "$here"/platforms/*.json "$folder/platform"
for table in "$here"/sw/models/networks/*.csv; do head -n 20 "$table" >"$folder/edges/$(basename "$table")"; done

seed() { cat >"$folder/$1"; }
seed edges/ring.csv <<'END'
from,to,links,link.rate
end0,a,1,400Gbps
end1,a,1,
end2,b,1,
end3,b,1,
a,b,2,100Gbps
END
seed vcd/bits.vcd <<'END'
$date today $end
$timescale 1ps $end
$scope module top $end
$var wire 1 ! clk $end
$var wire 8 " data [7:0] $end
$var real 64 # level $end
$var event 1 $ done $end
$upscope $end
$enddefinitions $end
#0
$dumpvars
0!
bx "
r0.5 #
$end
#5
1!
b1010 "
1$
#10
0!
r-1e3 #
$comment last $end
END
seed memory_trace/requests <<'END'
# reads and writes
R 0x1f40
W 8000 12.5
M 8040 13
r 0x0
END
seed text_workload/micro.txt <<'END'
MICRO
2
embedding -1 1000 NONE 0 1000 NONE 0 1000 ALLREDUCE 1048576 1000
layer -1 1000 ALLGATHER 4096 1000 REDUCESCATTER 4096 1000 ALLTOALL 1048576 1000
END
seed text_workload/hybrid.txt <<'END'
HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 checkpoints: 1 0 checkpoint_initiates: 1 1
1
layer -1 1000 ALLREDUCE 4096 1000 ALLREDUCE 4096 1000 NONE 0 1000
END
seed text_workload/simai.txt <<'END'
HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 1 ep: 2 pp: 2 vpp: 1 ga: 1 all_gpus: 4 checkpoints: 0 checkpoint_initiates: 0 pp_comm: 4096.0
2
norm -1 1 BROADCAST 16384 1 ALLGATHER 4096 1 NONE 0 100
experts -1 700 ALLTOALL_EP 8388608 700 ALLTOALL_EP 8388608 1 REDUCESCATTER_DP_EP 67108864 100
END
seed text_workload/model_data.txt <<'END'
HYBRID_MODEL_DATA model_parallel_NPU_group: 1 ep: 1 pp: 1
1
layer -1 1000 ALLTOALL_EP 4096 1000 ALLREDUCE 4096 1000 ALLREDUCE_DP_EP 4096 1000
behind the last layer
END
# The first byte says which of the files it is.
printf '\0topology: [ Ring, Switch ]\nnpus_count: [ 2, 4 ]\nbandwidth: [ 50.0, 25.0 ]\nlatency: [ 500.0, 1.0 ]\n' >"$folder/astra/network"
printf '\0{"dimensions-count": 1, "topologies-per-dim": ["Ring"], "units-count": [4], "links-count": [2], "link-latency": [500],
"link-bandwidth": [25]}' >"$folder/astra/network-1"
printf '\1{"scheduling-policy": "LIFO", "endpoint-delay": 10, "active-chunks-per-dimension": 1, "preferred-dataset-splits": 4,
"all-reduce-implementation": ["ring", "direct4"], "local-mem-bw": 50, "collective-optimization": "localBWAware",
"roofline-enabled": 1, "peak-perf": 900}' >"$folder/astra/system"
printf '\1scheduling-policy: LIFO\nendpoint-delay: 10\npreferred-dataset-splits: 4\nall-reduce-implementation: ring_ring\n' >"$folder/astra/system-1"
printf '\2{"memory-type": "PER_NPU_MEMORY_EXPANSION", "remote-mem-latency": 100, "remote-mem-bw": 50}' >"$folder/astra/memory"
printf '\3{"1": [0, 1, 2], "2": "all"}' >"$folder/astra/groups"
# A record of metadata, and one of a node with an id, a name and a type.
printf '\007\n\0051.0.0\010\010\001\022\002ab\030\004' >"$folder/chakra/one.et"
