#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What SPD-KFAC would gain today: runs a K-FAC platform with each way to sum factors and to broadcast inverses, then,
all with both in the switches, every algorithm, each way to pack what is sent, SPD-KFAC without each of its ideas, and
three algorithms with tensor cores, and prints the tables of docs/architect/training/spd-kfac.md.

    platforms/studies/kfac_today.py [PLATFORM [--set path=value ...]]

PLATFORM is resnet50-kfac-64xh100 unless given; what follows goes to every run. WEFT names another weft to run than the
wrapper of this repository.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

WEFT = os.environ.get("WEFT", str(pathlib.Path(__file__).resolve().parents[2] / "weft"))
COLLECTIVES = [("nccl", "nccl"), ("in-network", "nccl"), ("nccl", "in-network"), ("in-network", "in-network"),
               ("in-network", "multicast"), ("nccl", "multicast"), ("ring", "ring")]
ALGORITHMS = ["sgd", "d", "mpd", "spd", "dp"]
SWITCHES = {"all_reduces": "in-network", "broadcasts": "in-network"}
PACKINGS = ["squares", "fused", "indices"]
ABLATIONS = [{}, {"fusion": "optimal"}, {"fusion": "threshold"}, {"fusion": "none"}, {"pipelining": "off"},
             {"placement": "everywhere"}, {"placement": "in-turn"}]
TYPES = [("fp32", "fp32"), ("tf32", "fp32"), ("tf32", "tf32"), ("bf16", "fp32"), ("bf16", "tf32")]


def run(arguments, settings):
    with tempfile.TemporaryDirectory() as out:
        command = [WEFT, "run", *arguments, "--json", "--out", out, "--timeline-ranks", "0"]
        for path, value in settings.items():
            command += ["--set", f"workload.{path}={value}"]
        done = subprocess.run(command, stdout=subprocess.PIPE, check=False)
    if done.returncode != 0:
        sys.exit(done.returncode)
    return json.loads(done.stdout)


def ms(microseconds):
    return f"{microseconds / 1000:.2f} ms"


def print_row(cells):
    print("| " + " | ".join(cells) + " |", flush=True)


def main():
    arguments = sys.argv[1:] or ["resnet50-kfac-64xh100"]
    if arguments[0] in ("-h", "--help"):
        print(__doc__.strip())
        return
    print_row(["Factors are added up by", "Inverses are broadcast by", "Step", "FactorComm", "InverseComm"])
    print_row(["---"] * 5)
    for sums, broadcasts in COLLECTIVES:
        result = run(arguments, {"all_reduces": sums, "broadcasts": broadcasts})
        parts = result["breakdown_us"]
        print_row([f"`{sums}`", f"`{broadcasts}`", ms(result["step_time_us"]), ms(parts["factor_comm"]),
                   ms(parts["inverse_comm"])])
    print()
    print_row(["Algorithm", "Step", "samples/s"])
    print_row(["---"] * 3)
    for algorithm in ALGORITHMS:
        result = run(arguments, {**SWITCHES, "algorithm": algorithm})
        print_row([f"`{algorithm}`", ms(result["step_time_us"]), f"{result['samples_per_s']:.0f}"])
    print()
    print_row(["`packing`", "Step", "FactorComm", "FactorPacking", "InverseComm", "InversePacking"])
    print_row(["---"] * 6)
    for packing in PACKINGS:
        result = run(arguments, {**SWITCHES, "packing": packing})
        parts = result["breakdown_us"]
        print_row([f"`{packing}`", ms(result["step_time_us"]), ms(parts["factor_comm"]), ms(parts["factor_packing"]),
                   ms(parts["inverse_comm"]), ms(parts["inverse_packing"])])
    print()
    print_row(["`spd` with", "Step", "FactorComm", "FactorPacking", "InverseComp", "InverseComm", "Messages of factors"])
    print_row(["---"] * 7)
    for settings in ABLATIONS:
        result = run(arguments, {**SWITCHES, **settings})
        parts = result["breakdown_us"]
        name = ", ".join(f"`{path}={value}`" for path, value in settings.items()) or "all of it"
        print_row([name, ms(result["step_time_us"]), ms(parts["factor_comm"]), ms(parts["factor_packing"]),
                   ms(parts["inverse_comp"]),
                   ms(parts["inverse_comm"]), str(result["factor_messages"])])
    print()
    print_row(["Network in", "Factors in", "`sgd`", "`mpd`", "`spd`", "of it FF&BP", "FactorComp", "InverseComp"])
    print_row(["---"] * 8)
    for network, factors in TYPES:
        types = {**SWITCHES, "type": network, "factor_type": factors}
        sgd, mpd, spd = (run(arguments, {**types, "algorithm": algorithm}) for algorithm in ("sgd", "mpd", "spd"))
        parts = spd["breakdown_us"]
        print_row([f"`{network}`", f"`{factors}`", *(ms(result["step_time_us"]) for result in (sgd, mpd, spd)),
                   ms(parts["ff_bp"]), ms(parts["factor_comp"]), ms(parts["inverse_comp"])])


if __name__ == "__main__":
    main()
