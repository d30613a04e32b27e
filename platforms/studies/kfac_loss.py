#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Loss over simulated time: trains a small network with real numbers by each schedule, SGD at the best of some rates,
and prints the table of docs/architect/training/real-numbers.md: what the loss is after so many milliseconds of simulated time.

    platforms/studies/kfac_loss.py [PLATFORM [--set path=value ...]]

PLATFORM is resnet50-kfac-64xh100 with 8 accelerators and nano-conv unless given; what follows goes to every run. WEFT
names another weft to run than the wrapper of this repository.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

WEFT = os.environ.get("WEFT", str(pathlib.Path(__file__).resolve().parents[2] / "weft"))
EXAMPLE = ["resnet50-kfac-64xh100", "--set", "accelerators=8", "--set", "workload.network=nano-conv"]
MOMENTS_MS = [1, 5, 20, 50, 100, 200]
RATES = [0.01, 0.02, 0.03, 0.05, 0.1, 0.2]
SCHEDULES = [{"algorithm": "d"}, {"algorithm": "mpd"}, {"algorithm": "spd"}, {"algorithm": "dp"},
             {"algorithm": "spd", "factor_interval": 10, "inverse_interval": 10},
             {"algorithm": "dp", "factor_interval": 10, "inverse_interval": 10}]


def train(arguments, settings, steps):
    """Simulated milliseconds at which each step began, with the loss before it; None where the loss exploded."""
    with tempfile.TemporaryDirectory() as out:
        command = [WEFT, "run", *arguments, "--data", "--json", "--out", out, "--timeline-ranks", "0"]
        for path, value in {"training.on": "true", "steps": steps, **settings}.items():
            command += ["--set", f"workload.{path}={value}"]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if "workload.training.most_growth" in done.stderr:
        return None
    if done.returncode != 0:
        sys.exit(done.stderr)
    result = json.loads(done.stdout)
    now = 0
    losses = []
    for step, loss in zip(result["steps_us"], result["losses"]):
        losses.append((now / 1000, loss))
        now += step
    return losses


def train_until(arguments, settings, end_ms):
    """As many steps as that takes, judged by twenty."""
    first = train(arguments, settings, 20)
    if first is None:
        return None
    return train(arguments, settings, int(end_ms / first[-1][0] * (len(first) - 1)) + 20)


def row(name, losses):
    at = [next((loss for began, loss in reversed(losses) if began <= moment), None) for moment in MOMENTS_MS]
    step = losses[-1][0] / (len(losses) - 1)
    print("| " + " | ".join([name, f"{1000 * step:.0f} us", *(f"{loss:.2g}" for loss in at)]) + " |", flush=True)


def main():
    arguments = sys.argv[1:] or EXAMPLE
    if arguments[0] in ("-h", "--help"):
        print(__doc__.strip())
        return
    print("| Schedule | A step takes | " + " | ".join(f"{moment} ms" for moment in MOMENTS_MS) + " |")
    print("| " + " | ".join(["---"] * (2 + len(MOMENTS_MS))) + " |")
    best = None
    for rate in RATES:
        losses = train_until(arguments, {"algorithm": "sgd", "training.rate": rate}, MOMENTS_MS[-1])
        if losses is not None and (best is None or losses[-1][1] < best[1][-1][1]):
            best = (rate, losses)
    row(f"`sgd`, rate {best[0]}", best[1])
    for settings in SCHEDULES:
        losses = train_until(arguments, settings, MOMENTS_MS[-1])
        name = ", ".join(f"`{path}={value}`" if path != "algorithm" else f"`{value}`" for path, value in settings.items())
        if losses is None:
            print(f"| {name} | explodes |")
        else:
            row(name, losses)


if __name__ == "__main__":
    main()
