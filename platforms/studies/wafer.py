#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Wafers against conventional systems, the study of ASTRA-sim 2.0: runs GPT-3, DLRM and Transformer-1T on six systems of
512 ends, with chunks that visit the dimensions in their order and with Themis, and an AllReduce of 1 GB on systems that
grow on the wafer and outside of it, and prints the tables of docs/architect/studies.md.

    platforms/studies/wafer.py [--keep FOLDER] [--only TEXT]

FOLDER gets the platforms and traces, which `weft run` takes one by one. With TEXT only rows of the first table are made whose
workload and system contain it, such as "DLRM, W-1D". WEFT names another weft to run than the wrapper of
this repository.

Systems: W-1D is one switch of 350, 500 or 600 GB/s an end. W-2D has switches of 32 and of 16 ends, 250 GB/s each. Conv-3D
is a ring of 16, 8 fully connected and a switch of 4 ends (200, 100, 50 GB/s an end), Conv-4D a ring of 2, 8 fully connected,
a ring of 8 and a switch of 4 (250, 200, 100, 50). Links are shared (congestion cut-through), but in the second table, where a
chunk at a time passes a dimension.

Workloads are of our own, after the models: GPT-3 (width 12,288) in 16-way tensor and 32-way data parallelism, a
transformer of 10^12 parameters (width 25,600) in 128-way and 4-way, a sequence of 2,048 tokens for each replica; 2 blocks,
forward and backward, since they repeat. DLRM has 57.7 * 10^6 parameters in MLPs on each end and a batch of 1,024 samples an
end; embeddings of 8 MiB an end go by AllToAll, over all. Ends compute at 234 * 10^12 operations a second. All ranks execute
one trace, whose collectives name the dimensions that they use (involved_dim): tensor parallelism the first ones.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

WEFT = os.environ.get("WEFT", str(pathlib.Path(__file__).resolve().parents[2] / "weft"))
ALL_REDUCE, ALL_TO_ALL = 0, 6
GPT3, DLRM, T1T = "GPT-3", "DLRM", "Transformer-1T"
WAYS = {"Switch": "halvingDoubling", "Ring": "ring", "FullyConnected": "direct"}
LATENCIES = {"wafer": 50, "package": 500, "node": 500, "pod": 2000}  # ns a link
SCHEDULES = {"baseline": ("baseline", "FIFO"), "Themis": ("themis", "SmallestFirst")}


def dimension(block, size, gigabytes, place):
    """Of so many GB/s an end and direction, over all of its links."""
    links = {"Switch": 1, "Ring": 1, "FullyConnected": size - 1}[block]
    way = WAYS[block]
    return {"block": block, "size": size, "bandwidth_GiBps": gigabytes * 1e9 / 2**30 / links,
            "latency_ns": LATENCIES[place], "all_reduce": way, "all_gather": way, "reduce_scatter": way,
            "all_to_all": "direct"}


def wafer(sizes, gigabytes):
    """One switch: where a collective uses some of its ends, these are a dimension of the same ports."""
    return [dimension("Switch", size, gigabytes, "wafer") for size in sizes]


def systems(workload):
    """Dimensions of each system, and how many of them, from the first on, tensor parallelism has."""
    split = {GPT3: [16, 32], T1T: [128, 4], DLRM: [512]}[workload]
    for rate in (350, 500, 600):
        yield f"W-1D, {rate} GB/s", wafer(split, rate), 1
    two = {GPT3: [16, 32], T1T: [32, 4, 4], DLRM: [32, 16]}[workload]
    yield "W-2D, 250 + 250 GB/s", wafer(two, 250), {GPT3: 1, T1T: 2, DLRM: 0}[workload]
    yield "Conv-3D, 200 + 100 + 50 GB/s", [
        dimension("Ring", 16, 200, "wafer"), dimension("FullyConnected", 8, 100, "package"),
        dimension("Switch", 4, 50, "pod")], {GPT3: 1, T1T: 2, DLRM: 0}[workload]
    yield "Conv-4D, 250 + 200 + 100 + 50 GB/s", [
        dimension("Ring", 2, 250, "wafer"), dimension("FullyConnected", 8, 200, "package"),
        dimension("Ring", 8, 100, "node"), dimension("Switch", 4, 50, "pod")], {GPT3: 2, T1T: 3, DLRM: 0}[workload]


def platform(dimensions, schedule, congestion="cut-through", active_chunks=4):
    across, within = SCHEDULES[schedule]
    return {"network": "analytical",
            "analytical": {"congestion": congestion, "dimensions": dimensions,
                           "collectives": {"scheduling": "FIFO", "inter_dimension": across, "intra_dimension": within,
                                           "splits": 16, "active_chunks": active_chunks},
                           "end": {"roofline": True, "peak_tflops": 234, "memory_GBps": 2039}}}


class Trace:
    def __init__(self, dimensions):
        self.nodes = []
        self.dimensions = dimensions

    def add(self, kind, name, depends, attributes):
        node = {"id": len(self.nodes), "name": name, "type": kind, "data_deps": sorted(depends),
                "attr": [{"name": "is_cpu_op", "bool_val": False}] + attributes}
        self.nodes.append(node)
        return node["id"]

    def compute(self, name, depends, operations, tensor):
        return self.add("COMP_NODE", name, depends, [{"name": "num_ops", "int64_val": int(operations)},
                                                     {"name": "tensor_size", "uint64_val": int(tensor)}])

    def collective(self, name, depends, kind, size, first, last):
        """Over the dimensions from the first to before the last."""
        involved = [first <= i < last for i in range(self.dimensions)]
        return self.add("COMM_COLL_NODE", name, depends, [{"name": "comm_type", "int64_val": kind},
                                                          {"name": "comm_size", "int64_val": int(size)},
                                                          {"name": "involved_dim", "bool_list": involved}])


def transformer(dimensions, tensor_dimensions, width, tensor_parallel, blocks=2, sequence=2048, element=2):
    trace = Trace(dimensions)
    activations = sequence * width * element
    weights = {"attention": 4 * width * width / tensor_parallel, "mlp": 8 * width * width / tensor_parallel}
    last = []
    for block, factor, way in [(b, 1, "forward") for b in range(blocks)] + [(b, 2, "backward")
                                                                           for b in reversed(range(blocks))]:
        for part, parameters in weights.items():
            name = f"{way}.{block}.{part}"
            computed = trace.compute(name, last, factor * 2 * parameters * sequence,
                                     factor * element * parameters + 4 * activations)
            last = [trace.collective(name + ".sum", [computed], ALL_REDUCE, activations, 0, tensor_dimensions)]
            if factor == 2:
                trace.collective(name + ".gradients", [computed], ALL_REDUCE, element * parameters, tensor_dimensions,
                                 dimensions)
    return trace.nodes


def dlrm(dimensions, samples=1024, element=2):
    trace = Trace(dimensions)
    layers = {"bottom": [1024 * 1024] * 3, "top": [4096 * 4096] * 3 + [4096 * 1024]}
    embeddings = 8 << 20
    looked_up = trace.compute("embeddings", [], embeddings, 2 * embeddings)
    exchanged = trace.collective("embeddings.exchange", [looked_up], ALL_TO_ALL, embeddings, 0, dimensions)
    last = []

    def product(name, parameters, factor, depends):
        return trace.compute(name, depends, factor * 2 * parameters * samples, factor * element * parameters)

    for i, parameters in enumerate(layers["bottom"]):
        last = [product(f"forward.bottom.{i}", parameters, 1, last)]
    last.append(exchanged)
    for i, parameters in enumerate(layers["top"]):
        last = [product(f"forward.top.{i}", parameters, 1, last)]
    for part in ("top", "bottom"):
        for i, parameters in reversed(list(enumerate(layers[part]))):
            name = f"backward.{part}.{i}"
            last = [product(name, parameters, 2, last)]
            trace.collective(name + ".gradients", last, ALL_REDUCE, element * parameters, 0, dimensions)
        if part == "top":
            back = trace.collective("embeddings.gradients", last, ALL_TO_ALL, embeddings, 0, dimensions)
            trace.compute("embeddings.update", [back], embeddings, 3 * embeddings)
    return trace.nodes


def nodes_of(workload, dimensions, tensor_dimensions):
    if workload == DLRM:
        return dlrm(len(dimensions))
    width, tensor_parallel = {GPT3: (12288, 16), T1T: (25600, 128)}[workload]
    return transformer(len(dimensions), tensor_dimensions, width, tensor_parallel)


def weft(*arguments):
    done = subprocess.run([WEFT, *arguments, "--json"], stdout=subprocess.PIPE, check=False)
    if done.returncode != 0:
        sys.exit(done.returncode)
    return json.loads(done.stdout)


def file_name(*words):
    kept = "".join(c if c.isalnum() else "-" for c in "-".join(words).lower())
    return "-".join(word for word in kept.split("-") if word)


def run_workload(folder, workload, system, dimensions, tensor_dimensions, schedule):
    name = file_name(workload, system, schedule)
    traces = folder / (file_name(workload, system) + ".json")
    traces.write_text(json.dumps({"metadata": {"version": "0.0.4"},
                                  "nodes": nodes_of(workload, dimensions, tensor_dimensions)}))
    document = platform(dimensions, schedule)
    document["workload"] = {"kind": "chakra", "traces": traces.name}
    file = folder / (name + "-platform.json")
    file.write_text(json.dumps(document))
    return weft("run", str(file), "--out", str(folder / name), "--timeline-ranks", "0")


def print_workloads(folder, only):
    print("| workload | system | step, us | computing, us | exposed, us | step with Themis, us | exposed, us |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for workload in (GPT3, DLRM, T1T):
        for system, dimensions, tensor_dimensions in systems(workload):
            if only not in f"{workload}, {system}":
                continue
            cells = []
            for schedule in SCHEDULES:
                result = run_workload(folder, workload, system, dimensions, tensor_dimensions, schedule)
                mean = result["statistics"]["mean"]
                if schedule == "baseline":
                    cells += [result["last_finish_ns"], mean["computing_ns"]]
                else:
                    cells.append(result["last_finish_ns"])
                cells.append(mean["exposed_communication_ns"])
            print(f"| {workload} | {system} | " + " | ".join(f"{cell / 1000:.0f}" for cell in cells) + " |", flush=True)


def print_growth(folder):
    """Conv-4D with the same number of ends by a larger wafer, of 1,000 GB/s, or by more pods."""
    print("\n| ends | wafer of 2, more pods | 1 GB, us | larger wafer, 4 pods | 1 GB, us | gain | gain with Themis |")
    print("| --- | --- | --- | --- | --- | --- | --- |")

    def time(on_wafer, pods, schedule):
        dimensions = [dimension("Ring", on_wafer, 1000, "wafer"), dimension("FullyConnected", 8, 200, "package"),
                      dimension("Ring", 8, 100, "node"), dimension("Switch", pods, 50, "pod")]
        file = folder / f"wafer-{on_wafer}-pods-{pods}.json"
        file.write_text(json.dumps(platform(dimensions, schedule, "unaware", 1)))
        return weft("collective", str(file), "--op", "all_reduce", "--bytes", "1GB")["rows"][0]["time_us"]

    for on_wafer in (2, 4, 8, 16):
        pods = 4 * on_wafer // 2
        other, grown = [[time(*system, schedule) for schedule in SCHEDULES] for system in ((2, pods), (on_wafer, 4))]
        print(f"| {on_wafer * 256} | {pods} pods | {other[0]:.0f} | {on_wafer} on the wafer | {grown[0]:.0f} | "
              f"{other[0] / grown[0]:.2f} | {other[1] / grown[1]:.2f} |", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--keep", type=pathlib.Path)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.keep or pathlib.Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        print_workloads(folder, options.only)
        if not options.only:
            print_growth(folder)


if __name__ == "__main__":
    main()
