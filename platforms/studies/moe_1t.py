#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the traces of the study of disaggregated memory beside itself: moe-1t-pool.json and moe-1t-sharded.json, in
which a rank computes 4 sequences, and the same with 1seq, in which it computes one.

A mixture of experts in the style of those with 10^12 parameters, with a shape of our own: 16 blocks of model width
8,192, every second one with 256 experts of width 32,768 in place of its MLP, one a rank, of which a token takes one:
1.1 * 10^12 parameters in bf16. A trace has 4 of the 16 blocks, forward and backward, since they repeat. Sequences
have 2,048 tokens. Parameters lie in remote memory: a block's are loaded for the forward and again for the
backward pass, at the earliest when the block before the previous one is done, and gradients are stored.

pool: what all ranks share comes by a gather in the pool's switches, and its gradients go by a reduction there. sharded:
each rank loads its 256th and an Allgather does the rest; a ReduceScatter goes before the store (ZeRO-3 with parameters
outside, as ZeRO-Infinity has it). Gathers and reductions are in groups of their own, "gathers" and "reductions", for
ranks get to them in different orders beside the AllToAlls of tokens. All ranks execute the same trace.
"""
import json
import pathlib

RANKS = 256
BLOCKS = 4
WIDTH = 8192
SEQUENCE = 2048
BF16 = 2
ATTENTION = 4 * WIDTH * WIDTH
MLP = 8 * WIDTH * WIDTH  # dense, or an expert

ALL_GATHER, ALL_TO_ALL, REDUCE_SCATTER = 2, 6, 7


class Trace:
    def __init__(self):
        self.nodes = []

    def add(self, kind, name, depends, attributes):
        node = {"id": len(self.nodes), "name": name, "type": kind}
        if depends:
            node["data_deps"] = sorted(depends)
        node["attr"] = [{"name": "is_cpu_op", "bool_val": False}] + attributes
        self.nodes.append(node)
        return node["id"]

    def compute(self, name, depends, operations, tensor):
        return self.add("COMP_NODE", name, depends,
                        [{"name": "num_ops", "int64_val": operations}, {"name": "tensor_size", "int64_val": tensor}])

    def memory(self, kind, name, depends, size, in_switch=False):
        attributes = [{"name": "tensor_size", "int64_val": size}]
        if in_switch:
            attributes.append({"name": "in_switch", "bool_val": True})
        return self.add(kind, name, depends, attributes)

    def collective(self, name, depends, kind, size, group=None):
        attributes = [{"name": "comm_type", "int64_val": kind}, {"name": "comm_size", "int64_val": size}]
        if group:
            attributes.append({"name": "pg_name", "string_val": group})
        return self.add("COMM_COLL_NODE", name, depends, attributes)


def make(in_switch, sequences):
    tokens = sequences * SEQUENCE
    activations = tokens * WIDTH * BF16
    trace = Trace()

    def load_shared(name, depends, size):
        if in_switch:
            return trace.memory("MEM_LOAD_NODE", name + ".gather", depends, size, True)
        shard = trace.memory("MEM_LOAD_NODE", name + ".load", depends, size // RANKS)
        return trace.collective(name + ".all_gather", [shard], ALL_GATHER, size // RANKS, "gathers")

    def store_shared(name, depends, size):
        if in_switch:
            return trace.memory("MEM_STORE_NODE", name + ".reduce", depends, size, True)
        shard = trace.collective(name + ".reduce_scatter", depends, REDUCE_SCATTER, size, "reductions")
        return trace.memory("MEM_STORE_NODE", name + ".store", [shard], size // RANKS)

    done = []  # what ends a block's turn, in the order of turns
    turns = [(b, 1, "forward") for b in range(BLOCKS)] + [(b, 2, "backward") for b in reversed(range(BLOCKS))]
    for block, factor, way in turns:
        experts = block % 2 == 1
        name = f"{way}.{block}"
        room = [done[-2]] if len(done) > 1 else []
        before = done[-1:]
        shared = BF16 * (ATTENTION + (0 if experts else MLP))
        weights = [load_shared(name + ".shared", room, shared)]
        if experts:
            expert = trace.memory("MEM_LOAD_NODE", name + ".expert.load", room, BF16 * MLP)
        attention = factor * (2 * ATTENTION * tokens + 2 * SEQUENCE * WIDTH * tokens)
        mlp = factor * 2 * MLP * tokens
        last = trace.compute(name + ".attention", before + weights, attention,
                             factor * (BF16 * ATTENTION + 8 * activations))
        if experts:
            sent = trace.collective(name + ".dispatch", [last], ALL_TO_ALL, activations)
            last = trace.compute(name + ".expert", [sent, expert], mlp, factor * (BF16 * MLP + 10 * activations))
            own = last
            last = trace.collective(name + ".combine", [last], ALL_TO_ALL, activations)
        else:
            last = trace.compute(name + ".mlp", [last], mlp, factor * (BF16 * MLP + 10 * activations))
        if factor == 2:
            if experts:
                trace.memory("MEM_STORE_NODE", name + ".expert.store", [own], BF16 * MLP)
            store_shared(name + ".gradients", [last], shared)
        done.append(last)
    return trace.nodes


def write(file, nodes):
    lines = ",\n".join(json.dumps(node, separators=(",", ":")) for node in nodes)
    file.write_text('{"metadata":{"version":"0.0.4"},"nodes":[\n' + lines + "]}\n")


if __name__ == "__main__":
    here = pathlib.Path(__file__).resolve().parent
    for sequences, suffix in ((4, ""), (1, "-1seq")):
        write(here / f"moe-1t-pool{suffix}.json", make(True, sequences))
        write(here / f"moe-1t-sharded{suffix}.json", make(False, sequences))
