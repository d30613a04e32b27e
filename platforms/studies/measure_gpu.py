#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures kernels on an NVIDIA GPU through PyTorch, and puts the `weft kernel` command that predicts each beside it.

    platforms/studies/measure_gpu.py [--seconds N] [--only SECTION,...] [--out FILE]
    platforms/studies/measure_gpu.py --table FILE [--part PART] [--prefix SUITES] [--source TEXT]

The first form measures. It needs PyTorch with CUDA; Triton, pynvml and CuPy add a copy on some SMs, clocks and power, and
power against rates. Each row of the CSV that it prints is a median. --seconds is a budget: what does not fit is left out.
The second form turns such CSV into a table for `weft validate`. CUPTI's durations end with the kernel, Weft's times with the
start of the next one in its stream: --gap is taken off these.

A repetition is: flush, spin, the operation, spin. The flush reads 256 MiB, so that no operand and no changed line is in
L2; kernels that only pass over memory come after writing of as much, since what they write stays in L2 otherwise, and
nobody pays for it. --flush chooses one for all. Rows whose command says --warm run the operation itself instead. The first
spin keeps the GPU busy until the host has launched all of the operation. Times are those of CUPTI (torch.profiler), from
the first kernel's start to the last one's end; where the profiler gives none, of CUDA events. Operations above 0.3 ms come
after pauses of four times their length, so that the power limit does not meet them (--burst). Held ones run back to back
for four seconds, of which the second half counts; power is from the energy counter. The spins, whose cycles are known,
give the clock just before the operation, within 3 %. Data are normal random numbers.
"""
import argparse
import csv
import sys
import time

try:
    import torch

    import gpu_cases
    import gpu_meter
except ImportError:  # --table does without
    torch = None


def measure(options):
    meter = gpu_meter.Meter(options.seconds, open(options.out, "w") if options.out else sys.stdout)
    driver = gpu_meter.pynvml.nvmlSystemGetDriverVersion() if meter.device else "unknown"
    print(f"# {torch.cuda.get_device_name()}, driver {driver}, PyTorch {torch.__version__}, CUDA {torch.version.cuda}, cuDNN "
          f"{torch.backends.cudnn.version()}, {time.strftime('%Y-%m-%d')}", file=sys.stderr, flush=True)
    for name in options.only.split(",") if options.only else gpu_cases.SECTIONS:
        begin = time.perf_counter()
        meter.flush = meter.flushes[options.flush or ("write" if name == "passes" else "read")]
        try:
            gpu_cases.SECTIONS[name](meter)
            meter.close_profile()
        except Exception as error:
            print(f"{name}: {error}", file=sys.stderr, flush=True)
            meter.pending, meter.profile = [], None
        torch.cuda.empty_cache()
        print(f"# {name}: {time.perf_counter() - begin:.1f} s", file=sys.stderr, flush=True)


def table(options):
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(["suite", "platform", "arguments", "metric", "published", "unit", "tolerance", "source"])
    with open(options.table) as file:
        for row in csv.DictReader(file):
            if row["arguments"] and float(row["value"]) > 0:
                alone = row["metric"] == "rows[0].time_us" and row["suite"] != "held"
                writer.writerow([options.prefix + row["suite"], options.part, row["arguments"],
                                 row["metric"] + (f" - {options.gap:g}us" if alone else ""),
                                 f"{float(row['value']):g}", row["unit"], "", options.source])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=600, help="budget")
    parser.add_argument("--flush", choices=("write", "read"), help="what all repetitions begin with")
    parser.add_argument("--only", default="", help="sections: " + ", ".join(gpu_cases.SECTIONS if torch else []))
    parser.add_argument("--out", default="", help="CSV that is written; standard output if left out")
    parser.add_argument("--table", default="", help="CSV of measurements to turn into a table")
    parser.add_argument("--part", default="h100-sxm", help="column platform of the table")
    parser.add_argument("--prefix", default="h100-own-", help="what suites begin with")
    parser.add_argument("--gap", type=float, default=1.02, help="us from a kernel's end to the start of the next one")
    parser.add_argument("--source", default="measured by platforms/studies/measure_gpu.py", help="column source")
    options = parser.parse_args()
    table(options) if options.table else measure(options)


if __name__ == "__main__":
    main()
