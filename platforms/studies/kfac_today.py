#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What SPD-KFAC would gain today: runs a K-FAC platform with each way to sum factors and to broadcast inverses, then
every algorithm with both in the switches, and prints the tables of docs/guide.md.

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
        settings = {"all_reduces": "in-network", "broadcasts": "in-network", "algorithm": algorithm}
        result = run(arguments, settings)
        print_row([f"`{algorithm}`", ms(result["step_time_us"]), f"{result['samples_per_s']:.0f}"])


if __name__ == "__main__":
    main()
