#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Asks weft evaluate for the time of an AllReduce on several networks, and picks the best.

    ./search.py llama3-8b-fsdp-8xh100

Any optimiser that calls a function can take the place of the loop: Ax, Optuna, ArchGym. WEFT names the program.
"""
import json
import os
import subprocess
import sys


class Weft:
    """A platform that answers: a dictionary of overrides in, a dictionary of metrics out."""

    def __init__(self, platform, *options):
        command = [os.environ.get("WEFT", "weft"), "evaluate", platform, *options]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __call__(self, **overrides):
        self.process.stdin.write(json.dumps({path.replace("__", "."): value for path, value in overrides.items()}) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        if "error" in answer:
            raise ValueError(answer["error"])
        return answer

    def close(self):
        self.process.stdin.close()
        return self.process.wait()


def main():
    weft = Weft(sys.argv[1], "--op", "all_reduce", "--bytes", "1MiB", "--metric", "us=rows.0.time_us",
                "--metric", "price=accelerators * (1000 + fabric.link.rate / 1e9 * 5)")
    best = None
    for rate in ("100Gbps", "200Gbps", "400Gbps"):
        for algorithm in ("ring", "tree"):
            answer = weft(fabric__link__rate=rate, collectives__algorithm=algorithm)
            print(f"{rate:>8} {algorithm:>5} {answer['us']:10.2f} us {answer['price']:10.0f}")
            cost = answer["us"] * answer["price"]
            best = min(best or (cost, rate, algorithm), (cost, rate, algorithm))
    weft.close()
    print(f"best: {best[1]} {best[2]}")


if __name__ == "__main__":
    main()
