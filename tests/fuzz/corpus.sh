#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tests/fuzz/corpus.sh FOLDER: what each fuzzer begins with, FOLDER/NAME for NAME_fuzz: this repository's own small inputs, and where
# shared/ stands beside the clone, the small ones of other tools in it. Needs protoc and gzip.
set -euo pipefail
folder=${1:?a folder}
here=$(cd "$(dirname "$0")/../.." && pwd)
shared=$here/../shared
inputs=$here/docs/inputs
mkdir -p "$folder"/{chakra,run,vcd,platform,edges,memory_trace,text_workload,astra,model}

seed() { cat >"$folder/$1"; }
# with BYTE FILE TO: input of a fuzzer whose first byte says what the file is, or what becomes of it.
with() { { printf "$1"; cat "$2"; } >"$folder/$3"; }
# found PATTERN: files of shared/ that a fuzzer can begin with.
found() { [[ -d $shared ]] && find "$shared/cases" "$shared/astra" -name "$1" -size -9k || true; }
# name_of FILE: one that no other has, of its folder and itself.
name_of() { echo "$(basename "$(dirname "$1")")-$(basename "$1")"; }
packed() { gzip -9n <"$folder/$1" >"$folder/$1.gz"; }

# Execution traces: a record is a length in one or two bytes, of seven bits each, and a message.
record() {
  local message size
  message=$(mktemp)
  protoc --proto_path="$here/traces/chakra" --encode="ChakraProtoMsg.$1" et_def.proto >"$message"
  size=$(stat -c %s "$message")
  if ((size < 128)); then
    printf "\\x$(printf %02x "$size")"
  else
    printf "\\x$(printf %02x $((size % 128 + 128)))\\x$(printf %02x $((size / 128)))"
  fi
  cat "$message"
  rm "$message"
}
metadata() { echo 'version: "0.0.4"' | record GlobalMetadata; }
node() { echo "id: $1 name: \"n$1\" type: $2 ${3:-}" | record Node; }
attribute() { echo "attr { name: \"$1\" $2 }"; }
collective() {
  node "$1" COMM_COLL_NODE "$(attribute comm_type "int64_val: $2") $(attribute comm_size 'int64_val: 1048576')
    $(attribute is_cpu_op 'bool_val: false') ${3:-}"
}
{
  metadata
  node 0 COMP_NODE "duration_micros: 5 $(attribute is_cpu_op 'bool_val: false')"
  node 1 COMP_NODE "data_deps: 0 ctrl_deps: [0, 5] $(attribute num_ops 'int64_val: 1000') $(attribute tensor_size 'uint64_val: 64')"
  node 2 MEM_LOAD_NODE "ctrl_deps: 2 $(attribute tensor_size 'uint64_val: 4096')"
  node 3 METADATA_NODE 'inputs { values: "[]" shapes: "[[]]" types: "[\"Tensor\"]" } outputs { values: "1" }'
  node 5 COMP_NODE "data_deps: 1 $(attribute duration_nanos 'uint64_val: 5100') $(attribute stream 'int32_val: 7')"
} | seed chakra/compute.et
{
  metadata
  collective 1 0
  collective 2 0 "$(attribute pg_name 'string_val: "1"') data_deps: 1"
  collective 3 5 "$(attribute comm_root 'int32_val: 1')"
  collective 4 7 "$(attribute involved_dim 'bool_list { values: [true, false] }')"
  node 6 COMM_SEND_NODE "$(attribute comm_src 'int32_val: 0') $(attribute comm_dst 'int32_val: 1') $(attribute comm_size 'int64_val: 64')"
  node 7 COMM_RECV_NODE "$(attribute comm_src 'int32_val: 1') $(attribute comm_dst 'int32_val: 0') $(attribute comm_tag 'int32_val: 3')"
} | seed chakra/communication.et
{
  metadata
  node 1 METADATA_NODE "$(attribute double_val 'double_val: 0.5') $(attribute list 'double_list { values: [1, 2] }')
    $(attribute bytes 'bytes_val: "\001\377"') $(attribute texts 'string_list { values: ["a", "b"] }')
    $(attribute s64 'sint64_list { values: [-1, 5] }') $(attribute fixed 'fixed32_val: 7') $(attribute none '')"
} | seed chakra/attributes.et
cp "$inputs"/ddp.*.json "$folder/chakra"
seed chakra/jsonizer.json <<'END'
{"version": "0.0.4"}
{"id": "1", "name": "a", "type": "COMP_NODE", "durationMicros": "5", "attr": [{"name": "is_cpu_op", "boolVal": false}]}
{"id": "2", "name": "b", "type": "COMM_COLL_NODE", "dataDeps": ["1"], "attr": [{"name": "comm_size", "int64Val": "64"}, {"name": "x", "bytesVal": "AQ=="}]}
END
seed chakra/no-version.json <<'END'
{"attr": [{"name": "source", "stringVal": "a"}]}
{"id": "1", "name": "a", "type": "COMP_NODE"}
END
seed chakra/feeder.json <<'END'
{"schema": "1", "workload_graph": [{"Id": 1, "Name": "a", "NodeType": 4, "runtime": 5, "data_deps": [], "ctrl_deps": []},
{"Id": 2, "Name": "b", "NodeType": 7, "comm_type": 0, "comm_size": 64, "is_cpu_op": false, "data_deps": [1]}]}
END
for name in compute.et attributes.et ddp.0.json jsonizer.json; do packed "chakra/$name"; done
for file in "$folder"/chakra/*; do
  for byte in 0 1 2 11 15; do with "\\$byte" "$file" "run/$(basename "$file")-$byte"; done
done
for file in $(found '*.et') $(found '*jsonizer.json'); do cp "$file" "$folder/chakra/$(name_of "$file")"; done

# Waveforms
cp "$inputs"/*.vcd "$folder/vcd"
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
# A bit that is there twice.
seed vcd/twice.vcd <<'END'
$scope module tb $end $var reg 1 ! clk $end $var wire 1 # d [3] $end $var wire 1 $ d [2] $end
$var wire 1 % d [0] $end $var wire 1 & d [0] $end $upscope $end $enddefinitions $end
#0 0! 1# 0$ 1% 0& #5 1! #10 0! 0# 0% 1& #15 1!
END
# Bits one by one, aliases, a string, a name twice, sections, a time that runs back.
seed vcd/parts.vcd <<'END'
$version Questa Version $end $timescale 244 ns $end
$scope module tb $end $var reg 1 ! clk $end $var reg 1 " valid $end
$scope module dut $end
$var wire 1 # d [2] $end $var wire 1 $ d [1] $end $var wire 1 % d [0] $end
$var wire 4 & \odd.name[1] [3:0] $end $var wire 4 & q [3:0] $end $var string 1 ' state $end
$var wire 4 ( q $end $var integer 0 ) none $end
$upscope $end $scope begin $end $var wire 2 * v[3:2] $end $var wire 2 + v[1:0] $end $upscope $end $upscope $end
$enddefinitions $end
$dumpvars 0! 0" 0# 1$ x% bz0 & sidle ' b0 ( b1 * b10 + $end
#1 1! 1" #2 0! 1# b0b101 & srun ' #3 1! b1 & #3.5 0! #2 1# #4
$dumpoff x! bx & $end #5 $dumpon 0! b11 & $end #6 1! #7 0!
END
for name in bits.vcd parts.vcd; do packed "vcd/$name"; done
for file in $(found '*.vcd') $(found '*.vcd.gz'); do cp "$file" "$folder/vcd/$(name_of "$file")"; done

# Platforms, and patches of them
cp "$here"/platforms/*.json "$inputs/two-sites.json" "$folder/platform"
seed platform/fabrics.json <<'END'
{"accelerators": 8, "per_node": 4, "accelerator": {"part": "a100-80g", "hbm": {"capacity": "40GiB"}}, "nic": "connectx-6",
 "fabric": {"topology": "dragonfly", "hosts_per_router": 1, "groups": 2, "routers_per_group": 4, "routing": "valiant", "link": {"lanes": 4}},
 "scale_up": {"fabric": {"topology": "torus", "sizes": [2, 2]}}}
END
seed platform/tree.json <<'END'
{"accelerators": 16, "per_node": 1, "fabric": {"levels": 3, "radix": 8, "hosts_per_leaf": 4, "faults": [{"link": "leaf0-spine0", "from": "1us"}]}}
END
seed platform/patch.json <<'END'
{"fabric": {"link": {"rate": "100Gbps", "buffer": "64KiB"}, "edges": ["end0 - a", {"between": "end1 - a", "links": 2}]}, "nic": {"mtu": "1KiB"}}
END
seed platform/analytical.json <<'END'
{"network": "analytical", "analytical": {"congestion": "aware", "dimensions": [{"block": "Ring", "size": 4, "bandwidth_GiBps": 50, "latency_ns": 500}],
 "collectives": {"splits": 4}, "end": {"peak_tflops": 90}}}
END
packed platform/patch.json
for file in $(found 'p.json') $(found 'hi-rate.json') $(found 'analytical-2.json') $(found 'l82*.json'); do
  cp "$file" "$folder/platform/$(name_of "$file")"
done

seed platform/kfac.json <<'END'
{"accelerators": 4, "per_node": 1, "workload": {"kind": "kfac", "network": "resnet50", "batch": 8, "algorithm": "spd", "fusion": "optimal",
 "compression": {"method": "none"}, "activations": {"method": "jpeg-act", "ratio": 0.25}}}
END
seed platform/fsdp.json <<'END'
{"accelerators": 8, "workload": {"kind": "fsdp", "model": "llama3-8b", "sequences": 2, "sequence": 2048, "layers": 2, "recompute": "full",
 "shards": 4, "fusion": "fused", "linear": "float8"}}
END
seed platform/transformer.json <<'END'
{"accelerators": 8, "workload": {"kind": "transformer", "model": "llama3-8b", "parallel": "tp=2,cp=2,pp=2", "layers": 4, "microbatches": 2,
 "schedule": "interleaved", "virtual_stages": 2, "sequence_parallel": true, "library": "communicators", "kernels": 2}}
END
seed platform/bank.json <<'END'
{"accelerators": 2, "accelerator": {"part": "h100-sxm", "hbm": {"detail": "bank", "stacks": {"count": 5, "clock": "1ns", "mapping": "128B"}}},
 "workload": {"kind": "chakra", "traces": "w", "groups": {"1": [0, 1], "2": "all"}, "compute": "duration"}}
END
seed platform/config.json <<'END'
{"weft": {"version": "1"}, "file": "/a/p.json", "platform": {"accelerators": 2, "fabric": {"link": {"rate": "1Gbps"}}},
 "values": {"fabric.link.rate": {"source": "command line", "value": "1Gbps"}}}
END

# Its words, for -dict: names of fields, and of what they can be.
{
  grep -rhoE 'visit\("[a-z_A-Z0-9]+"' "$here"/{hw,sw,platforms/machine} | cut -d '"' -f 2
  grep -rhoE '\{"[a-z0-9-]+", [A-Z][A-Za-z]+::k' "$here"/{hw,sw} | cut -d '"' -f 2
  printf '%s\n' part workload name description network analytical 'Ring(4)' 'FullyConnected(4)' 'Switch(4)' 'Mesh(4)' 400Gbps 64KiB 1us
  basename -s .json "$here"/platforms/parts/*.json
} | sort -u | sed 's/.*/"\\"&\\""/' >"$folder/platform.dict"

# Tables of a graph's edges
for table in "$here"/sw/models/networks/*.csv; do head -n 20 "$table" >"$folder/edges/$(basename "$table")"; done
cp "$inputs/edges.csv" "$folder/edges"
seed edges/pair.csv <<'END'
# two ends
between,links,link.rate,link.propagation,link.buffer
end0 - a,1,400Gbps,10ns,64KiB
"end1 - a",2,100Gbps,,
END
seed edges/ring.csv <<'END'
between,links,link.rate
end0 - a,1,400Gbps
end1 - b,1,
end2 - c,1,
end3 - d,1,
a - b,2,100Gbps
b - c,2,100Gbps
c - d,2,100Gbps
d - a,2,100Gbps
END
seed edges/part.csv <<'END'
between,link,link.rate
end0 - s,ndr-400g,100Gbps
end1 - s,,1Gbps
END
packed edges/ring.csv
for file in $(found '*.csv'); do cp "$file" "$folder/edges/$(name_of "$file")"; done

# Memory requests
head -n 40 "$inputs/requests.trc" >"$folder/memory_trace/requests.trc"
seed memory_trace/requests <<'END'
# reads and writes
R 0x1f40
W 8000 12.5
M 8040 13
r 0x0
END
packed memory_trace/requests

# Text workloads of ASTRA-sim 1.0 and SimAI
cp "$inputs/moe.txt" "$folder/text_workload"
seed text_workload/micro.txt <<'END'
MICRO
2
embedding -1 1000 NONE 0 1000 NONE 0 1000 ALLREDUCE 1048576 1000
layer -1 1000 ALLGATHER 4096 1000 REDUCESCATTER 4096 1000 ALLTOALL 1048576 1000
END
seed text_workload/hybrid.txt <<'END'
HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 checkpoints: 1 0 checkpoint_initiates: 1 1
2
first -1 1000 ALLREDUCE 4096 1000 ALLREDUCE 4096 1000 NONE 0 1000
second -1 1000 ALLREDUCE 4096 1000 ALLREDUCE 4096 1000 NONE 0 1000
END
seed text_workload/stages.txt <<'END'
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
seed text_workload/dlrm.txt <<'END'
HYBRID_DLRM_ENHANCED 1
3
bottom -1 1000 NONE 0 1000 NONE 0 1000 ALLREDUCE 4096 10
embedding -1 1000 ALLTOALL 4096 1000 NONE 0 1000 ALLTOALL 4096 10
top -1 1000 BROADCAST 4096 1000 NONE 0 1000 ALLREDUCE 4096 10
END
seed text_workload/custom.txt <<'END'
HYBRID_CUSTOMIZED
2
a -1 1000 NONE 0 1000 NONE 0 1000 ALLREDUCE 4096 10 DATA
b -1 1000 ALLGATHER 4096 1000 REDUCESCATTER 4096 1000 NONE 0 10 MODEL
END
seed text_workload/simai.txt <<'END'
HYBRID_TRANSFORMER model_parallel_NPU_group: 2 ep: 1 pp: 2 vpp: 4 ga: 2 all_gpus: 4 pp_comm: 8388608
2
attention -1 1000 ALLREDUCE 4096 1000 ALLGATHER 4096 1 REDUCESCATTER_DP_EP 4096 100
experts -1 1000 ALLTOALL_EP 4096 1000 ALLTOALL_EP 4096 1 NONE 0 100
END
packed text_workload/simai.txt
for file in $(found '*.txt'); do cp "$file" "$folder/text_workload/$(name_of "$file")"; done

# ASTRA-sim's network, system, memory and group files, and topologies of ns-3 and htsim
with '\0' "$inputs/network.yml" astra/network
with '\0' "$inputs/ns3-logical.json" astra/logical
with '\1' "$inputs/system.json" astra/system
with '\2' "$inputs/memory.json" astra/no-memory
with '\4' "$inputs/ns3-topology.txt" astra/ns3-topology
printf '\0{"dimensions-count": 1, "topologies-per-dim": ["Ring"], "units-count": [4], "links-count": [2], "link-latency": [500],
"link-bandwidth": [25]}' | seed astra/network-1
printf '\1{"scheduling-policy": "LIFO", "endpoint-delay": 10, "active-chunks-per-dimension": 1, "preferred-dataset-splits": 4,
"all-reduce-implementation": ["ring", "direct4"], "local-mem-bw": 50, "collective-optimization": "localBWAware",
"roofline-enabled": 1, "peak-perf": 900}' | seed astra/system-direct
printf '\1scheduling-policy: LIFO\nendpoint-delay: 10\npreferred-dataset-splits: 4\nall-reduce-implementation: ring_ring\n' | seed astra/system-1
printf '\2{"memory-type": "PER_NPU_MEMORY_EXPANSION", "remote-mem-latency": 100, "remote-mem-bw": 50}' | seed astra/memory
printf '\2{"memory-type": "PER_NODE_MEMORY_EXPANSION", "remote-mem-latency": 100, "remote-mem-bw": 50, "num-nodes": 2, "num-npus-per-node": 4}' |
  seed astra/memory-nodes
printf '\3{"1": [0, 1, 2], "2": "all"}' | seed astra/groups
printf '\5TOPOLOGY_FILE topology.txt\nPACKET_PAYLOAD_SIZE 1000\nENABLE_QCN 1\nKMAX_MAP 2 100000000000 400 200000000000 800\n' | seed astra/ns3-config
printf '\6# a tree\nNodes 8\nTiers 3\nPodsize 4\nTier 0\nDownlink_speed_Gbps 200\nRadix_Up 2\nRadix_Down 2\nDownlink_Latency_ns 500
Tier 1\nDownlink_speed_Gbps 200\nRadix_Up 2\nRadix_Down 2\nDownlink_Latency_ns 500\nTier 2\nDownlink_speed_Gbps 200\nRadix_Down 2
Downlink_Latency_ns 500\n' | seed astra/htsim-3
printf '\6Nodes 8\nTiers 2\nTier 0\nDownlink_speed_Gbps 200\nRadix_Up 4\nRadix_Down 4\nDownlink_Latency_ns 500
Tier 1\nDownlink_speed_Gbps 200\nRadix_Down 4\nBundle 2\nDownlink_Latency_ns 500\n' | seed astra/htsim-2
for file in $(found '*.yml'); do with '\0' "$file" "astra/$(name_of "$file")"; done
printf '\7{"4": "custom", 7: ./a/b}\n' | seed astra/custom-nodes
for file in $(found 'sys*.json') $(found '*chunks.json'); do with '\1' "$file" "astra/$(name_of "$file")"; done
for file in $(found 'mem*.json'); do with '\2' "$file" "astra/$(name_of "$file")"; done
for file in $(found 'comm*.json') $(found '*groups.json'); do with '\3' "$file" "astra/$(name_of "$file")"; done

# Networks of layers, transformers and published measurements
for table in "$here"/sw/models/networks/*.csv; do
  head -n 12 "$table" >"$folder/part"
  with '\0' "$folder/part" "model/$(basename "$table" .csv)"
done
printf '\0{"name": "a", "batch": 16, "layers": [{"layer": "hidden", "kind": "linear", "channels_in": 784, "channels_out": 256, "bias": true},
{"layer": "pool", "kind": "max-pool", "channels_in": 4, "channels_out": 4, "kernel_height": 2, "kernel_width": 2, "stride": 2, "pad_height": 0,
"pad_width": 0, "height": 8, "width": 8, "bias": false}, {"layer": "norm", "kind": "residual-norm", "channels_in": 8, "channels_out": 8,
"height": 4, "width": 4, "bias": true}]}' | seed model/layers.json
head -n 8 "$here/sw/models/transformers.csv" >"$folder/part"
with '\1' "$folder/part" model/transformers
printf '\1name,layers,d_model,ffn,heads,kv_heads,head_dim,vocab,gated,tied,positions,bias,norm,sequence,encoder,relative,dropout
small,2,64,256,4,2,16,128,yes,no,0,no,rms,64,,,
large,4096,1048576,1048576,4096,4096,4096,1048576,no,yes,1048576,yes,layer,1048576,4096,32,yes\n' | seed model/transformers-2
printf '\1{"layers": 2, "d_model": 64, "ffn": 256, /* wide */ "heads": 4, "vocab": 128, "norm": "layer", "sequence": 64} // one' |
  seed model/transformer.json
for table in "$here"/traces/published/*.csv; do
  head -n 6 "$table" >"$folder/part"
  with '\2' "$folder/part" "model/$(basename "$table" .csv)"
done
rm -f "$folder/part"
printf '\2suite,platform,arguments,metric,published,unit,tolerance,source
a,p,collective --op all_gather less collective --op reduce,rows[bytes=1024].busbw + rows[0].bytes,1.5,GB/s,10%%,b
a,p,run,step.time_us,5,ms,0.5ms,"c, d"
b,p,run,"rows[-1][""op""]",5,,-,e\n' | seed model/published
