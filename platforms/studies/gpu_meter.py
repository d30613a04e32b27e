# SPDX-License-Identifier: Apache-2.0
"""How measure_gpu.py measures one operation."""
import csv
import statistics
import sys
import threading
import time

import torch

try:
    import pynvml
except ImportError:
    pynvml = None

COLUMNS = ["suite", "arguments", "metric", "value", "unit", "low", "high", "event_us", "repetitions", "kernels",
           "clock_mhz", "kernel"]
SHORT_SPIN, HELD_SPIN = 2000, 200_000  # cycles


def is_spin(name):
    return "spin_kernel" in name


class Profile:
    """What ran on the GPU while this was open: (start ns, duration ns, name), by start."""

    def __init__(self):
        self.kernels = []
        self.profiler = torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA])

    def __enter__(self):
        torch.cuda.synchronize()
        self.profiler.start()
        return self

    def __exit__(self, *_):
        torch.cuda.synchronize()
        try:
            self.profiler.stop()
            cuda = torch.autograd.DeviceType.CUDA
            self.kernels = sorted((event.start_ns(), event.duration_ns(), event.name())
                                  for event in self.profiler.profiler.kineto_results.events()
                                  if event.device_type() == cuda and not event.name().endswith(" Sync"))
        except Exception as error:  # the times of events remain
            print(f"profiler: {error}", file=sys.stderr, flush=True)


class Meter:
    def __init__(self, seconds, out):
        self.end = time.perf_counter() + seconds
        self.writer = csv.DictWriter(out, COLUMNS, restval="", lineterminator="\n")
        self.writer.writeheader()
        self.out = out
        self.scratch = torch.zeros(1 << 26, device="cuda")  # 256 MiB
        self.flushes = {"write": lambda: self.scratch.fill_(1), "read": lambda: torch.sum(self.scratch)}
        self.flush = self.flushes["read"]
        self.pending = []  # (row, spin's cycles, times by events) of each measurement since the profile began
        self.profile = None
        self.opened = 0
        self.device = None
        try:
            pynvml.nvmlInit()
            self.device = pynvml.nvmlDeviceGetHandleByIndex(0)
        except Exception as error:  # no clocks and power then
            print(f"pynvml: {error}", file=sys.stderr, flush=True)

    def write(self, **row):
        row = {key: f"{value:.4g}" if isinstance(value, float) else value for key, value in row.items()}
        self.writer.writerow(row)
        self.out.flush()

    def late(self):
        return time.perf_counter() > self.end

    def close_profile(self):
        if not self.profile:
            return
        self.profile.__exit__()
        segments, spins = [], []  # kernels behind each spin, and how long that took
        for start, duration, name in self.profile.kernels:
            if is_spin(name):
                spins.append(duration / 1e3)
                segments.append([])
            elif segments:
                segments[-1].append((start, duration, name))
        complete = len(spins) == 2 * sum(len(events) for _, _, events in self.pending)
        shortest = min(spins[1::2], default=0)
        first = 0
        for row, cycles, events in self.pending:
            times, clocks, kernels = [], [], []
            for i in range(first, first + 2 * len(events), 2):
                if not complete or not segments[i]:
                    continue
                kernels = segments[i]
                times.append((max(s + d for s, d, _ in kernels) - kernels[0][0]) / 1e3)
                clocks.append((cycles - SHORT_SPIN) / (spins[i] - shortest))
            first += 2 * len(events)
            times = sorted(times or events)
            row.update(value=statistics.median(times), low=times[len(times) // 10], high=times[-1 - len(times) // 10],
                       event_us=statistics.median(events), repetitions=len(times))
            if kernels:
                longest = max(kernels, key=lambda kernel: kernel[1])[2]
                row.update(kernels=len(kernels), kernel=longest[:90])
            if clocks:
                row.update(clock_mhz=round(statistics.median(clocks)))
            self.write(**row)
        self.pending, self.profile = [], None

    def time_once(self, op):
        """Seconds on the device and on the host."""
        op()
        op()
        torch.cuda.synchronize()
        begin, done = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start = time.perf_counter()
        begin.record()
        op()
        done.record()
        host = time.perf_counter() - start
        torch.cuda.synchronize()
        return begin.elapsed_time(done) / 1e3, host

    def measure(self, suite, arguments, make, metric="rows[0].time_us", repetitions=15):
        if self.late():
            return
        try:
            op = make()
            seconds, host = self.time_once(op)
            if not self.profile:
                self.profile = Profile()
                self.profile.__enter__()
                self.opened = time.perf_counter()
            cycles = int(min(max(40e-6, 2 * host + 20e-6), 5e-3) * 1.98e9)
            flush = op if "--warm" in arguments else self.flush
            if seconds > 5e-3:
                repetitions = 10
            marks = []
            for _ in range(repetitions):
                if seconds > 3e-4:
                    torch.cuda.synchronize()
                    time.sleep(4 * seconds)
                flush()
                torch.cuda._sleep(cycles)
                marks.append([torch.cuda.Event(enable_timing=True) for _ in range(2)])
                marks[-1][0].record()
                op()
                marks[-1][1].record()
                torch.cuda._sleep(SHORT_SPIN)
            torch.cuda.synchronize()
            events = [begin.elapsed_time(done) * 1e3 for begin, done in marks]
            self.pending.append((dict(suite=suite, arguments=arguments, metric=metric, unit="us"), cycles, events))
        except Exception as error:
            print(f"{suite}: {arguments}: {str(error).splitlines()[0]}", file=sys.stderr, flush=True)
            op = None
        if self.profile and time.perf_counter() - self.opened > 4:
            self.close_profile()
        if torch.cuda.memory_reserved() > 24 << 30:
            op = flush = None
            torch.cuda.empty_cache()

    def watch(self, samples, stop):
        while not stop.wait(0.025):
            samples.append((time.perf_counter(), pynvml.nvmlDeviceGetTotalEnergyConsumption(self.device) / 1e3,
                            pynvml.nvmlDeviceGetClockInfo(self.device, pynvml.NVML_CLOCK_SM)))

    def back_to_back(self, op, seconds):
        """For so long, after a pause. Of the second half: us of each chunk's operation, how many there were, watts, and the
        SM clock in MHz as NVML has it and as spins of known cycles between chunks have it (0: unknown)."""
        chunk = max(1, int(0.02 / self.time_once(op)[0]))
        time.sleep(0.4)
        samples, stop, marks = [], threading.Event(), []
        watcher = threading.Thread(target=self.watch, args=(samples, stop))
        if self.device:
            watcher.start()
        begin = time.perf_counter()
        while time.perf_counter() - begin < seconds:
            marks.append([torch.cuda.Event(enable_timing=True) for _ in range(3)])
            marks[-1][0].record()
            for _ in range(chunk):
                op()
            marks[-1][1].record()
            torch.cuda._sleep(HELD_SPIN)
            marks[-1][2].record()
            if len(marks) > 2:
                marks[-3][2].synchronize()
        torch.cuda.synchronize()
        end = time.perf_counter()
        if self.device:
            stop.set()
            watcher.join()
        half = marks[len(marks) // 2:]
        each = [a.elapsed_time(b) * 1e3 / chunk for a, b, _ in half]
        spun = statistics.mean(b.elapsed_time(c) * 1e3 for _, b, c in half)
        inside = [s for s in samples if begin + (end - begin) / 2 < s[0] < end]
        if len(inside) < 2:
            return each, len(each) * chunk, 0, 0, HELD_SPIN / spun
        watts = (inside[-1][1] - inside[0][1]) / (inside[-1][0] - inside[0][0])
        return each, len(each) * chunk, watts, statistics.mean(s[2] for s in inside), HELD_SPIN / spun

    def hold(self, suite, arguments, make, seconds=4.0):
        if self.late():
            return
        try:
            each, count, watts, clock, spun = self.back_to_back(make(), seconds)
            row = dict(arguments=arguments, repetitions=count)
            self.write(**row, suite=suite, metric="rows[0].time_us", unit="us", value=statistics.mean(each), low=min(each), high=max(each),
                       clock_mhz=round(spun))
            if watts:
                self.write(**row, suite="power", metric="rows[0].power_w", unit="W", value=float(watts))
                self.write(suite="figures", metric=f"clock by NVML: {arguments}", unit="MHz", value=float(clock))
        except Exception as error:
            print(f"{suite}: {arguments}: {str(error).splitlines()[0]}", file=sys.stderr, flush=True)
