# SPDX-License-Identifier: Apache-2.0
"""What measure_gpu.py measures, section by section."""
import statistics
import threading
import time

import torch

import gpu_operations as gpu
import gpu_power
from gpu_meter import Profile, is_spin, pynvml

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30


def gemm_arguments(m, n, k, dtype="bf16", batch=1, full=False, sparse=False, flags="--burst"):
    return (f"kernel gemm {flags} " + (f"--batch {batch} " if batch > 1 else "") + f"--m {m} --n {n} --k {k}" +
            (f" --type {dtype}" if dtype != "bf16" else "") + (" --full-accumulation" if full else "") +
            (" --sparse" if sparse else "")).replace("  ", " ")


SQUARES = [512, 768, 1024, 1536, 2048, 3000, 3072, 4096, 5120, 6144, 8192, 10240, 12288, 16384]
LAYERS = ([(m, 6144, 4096) for m in (1, 64, 512, 2048, 8192)] +  # Llama 3 8B: Q, K and V
          [(m, 28672, 4096) for m in (1, 16, 128, 1024, 8192)] +  # gate and up
          [(m, 4096, 14336) for m in (1, 16, 128, 1024, 8192)] + [(1, 128256, 4096), (1024, 128256, 4096)] +  # down, head
          [(m, 1280, 8192) for m in (1, 128, 8192)] +  # 70B, one of 8 ranks of tensor parallelism
          [(m, 8192, 1024) for m in (1, 128, 8192)] + [(m, 7168, 8192) for m in (1, 16, 128, 1024, 8192)] +
          [(m, 8192, 3584) for m in (16, 1024, 8192)] + [(8192, 57344, 8192), (8192, 8192, 28672)])
LONG = [(256, 256, 131072), (512, 512, 65536), (1024, 1024, 32768), (2048, 2048, 16384), (4096, 14336, 8192)]
BATCHED = [(1024, 1024, 128, 64), (1024, 128, 1024, 64), (256, 256, 256, 256), (2048, 2048, 2048, 16), (512, 4096, 4096, 8)]
TYPES = ([("fp16", s) for s in ((1024,) * 3, (4096,) * 3, (8192,) * 3, (16, 28672, 4096))] +
         [("tf32", s) for s in ((1024,) * 3, (2048,) * 3, (4096,) * 3, (8192,) * 3, (64, 4096, 4096))] +
         [("fp32", s) for s in ((512,) * 3, (1024,) * 3, (2048,) * 3, (4096,) * 3, (8192,) * 3)] +
         [("fp8", s) for s in ((1024,) * 3, (2048,) * 3, (4096,) * 3, (8192,) * 3, (16384,) * 3, (16, 28672, 4096),
                               (1024, 7168, 8192), (8192, 28672, 4096))] +
         [("int8", s) for s in ((2048,) * 3, (8192,) * 3)] + [("fp64", s) for s in ((1024,) * 3, (4096,) * 3)])


def run_gemm(meter):
    for m, n, k in [(s, s, s) for s in SQUARES] + LAYERS + LONG:
        meter.measure("gemm", gemm_arguments(m, n, k), lambda: gpu.gemm(m, n, k))
    for m, n, k, batch in BATCHED:
        meter.measure("gemm", gemm_arguments(m, n, k, batch=batch), lambda: gpu.gemm(m, n, k, batch=batch))
    for m, n, k in [(512,) * 3, (1024,) * 3, (2048,) * 3, (1, 4096, 4096)]:
        meter.measure("gemm", gemm_arguments(m, n, k, flags="--burst --warm"), lambda: gpu.gemm(m, n, k))


def run_types(meter):
    for dtype, shape in TYPES:
        meter.measure("gemm-types", gemm_arguments(*shape, dtype), lambda: gpu.gemm(*shape, dtype))
    for shape in [(4096,) * 3, (8192,) * 3, (8192, 28672, 4096)]:
        meter.measure("gemm-types", gemm_arguments(*shape, "fp8", full=True), lambda: gpu.gemm(*shape, "fp8", full=True))
    for size in (4096, 8192):
        meter.measure("gemm-types", gemm_arguments(size, size, size, sparse=True),
                      lambda: gpu.gemm(size, size, size, sparse=True))


def attention_arguments(backend, batch, heads, kv_heads, seq, keys=0, causal=False, backward=False, flags="--burst"):
    return (f"kernel attention {flags} --batch {batch} --heads {heads} --kv-heads {kv_heads} --seq {seq}" +
            (f" --keys {keys}" if keys else "") + (" --causal" if causal else "") + (" --backward" if backward else "") +
            (" --synchronous" if backend == "FLASH_ATTENTION" else "")).replace("  ", " ")


def run_attention(meter):
    cases = []
    for backend in ("CUDNN_ATTENTION", "FLASH_ATTENTION"):
        for backward in (False, True):
            cases += [(backend, max(1, 16384 // seq), 32, 8, seq, 0, True, backward) for seq in (1024, 2048, 4096, 8192, 32768)]
            cases += [(backend, max(1, 16384 // seq), 32, 32, seq, 0, False, backward) for seq in (1024, 4096, 16384)]
    cases += [("FLASH_ATTENTION", batch, 32, 8, 1, keys, False, False) for batch, keys in ((1, 32768), (16, 8192), (64, 4096))]
    for backend, batch, heads, kv_heads, seq, keys, causal, backward in cases:
        meter.measure("attention", attention_arguments(backend, batch, heads, kv_heads, seq, keys, causal, backward),
                      lambda: gpu.attention(backend, batch, heads, kv_heads, seq, 128, keys, causal, backward))


CONVOLUTIONS = [(3, 64, 224, 7, 2, 3, 1), (64, 64, 56, 1, 1, 0, 1), (64, 64, 56, 3, 1, 1, 1), (64, 256, 56, 1, 1, 0, 1),
                (128, 128, 28, 3, 1, 1, 1), (256, 256, 14, 3, 1, 1, 1), (512, 512, 7, 3, 1, 1, 1),
                (1024, 2048, 14, 1, 2, 0, 1), (384, 384, 28, 3, 1, 1, 384)]


def convolution_arguments(batch, c_in, c_out, size, kernel, stride, pad, groups, dtype, which):
    return (f"kernel conv --burst --batch {batch} --in {c_in} --out {c_out} --size {size} --kernel {kernel} --stride {stride}"
            f" --pad {pad}" + (f" --groups {groups}" if groups > 1 else "") + (" --type fp16" if dtype == "fp16" else "") +
            f" --pass {which}")


def run_convolution(meter):
    torch.backends.cudnn.benchmark = True
    cases = [(128, *shape, "bf16", which) for shape in CONVOLUTIONS for which in ("forward", "data-gradient", "weight-gradient")
             if shape[0] > 3 or which != "data-gradient"]
    cases += [(128, *CONVOLUTIONS[4], "fp16", which) for which in ("forward", "weight-gradient")]
    for case in cases:
        meter.measure("convolution", convolution_arguments(*case), lambda: gpu.convolution(*case))


def run_passes(meter):
    """Kernels that memory bounds."""
    for kind, rows, columns in [("layer", 512, 4096), ("layer", 8192, 4096), ("layer", 65536, 1024), ("rms", 8192, 4096),
                                ("rms", 8192, 8192), ("batch", 401408, 64), ("batch", 401408, 256), ("batch", 25088, 1024)]:
        for backward in (False, True):
            meter.measure("norm", f"kernel norm --burst --rows {rows} --columns {columns} --kind {kind}" +
                          (" --backward" if backward else ""), lambda: gpu.norm(kind, rows, columns, backward))
    sizes = [KIB, 64 * KIB, MIB, 4 * MIB, 16 * MIB, 64 * MIB, 256 * MIB, GIB, 4 * GIB]
    cases = [("scale", size, "bf16", "") for size in sizes]
    cases += [("scale", size, "bf16", " --warm") for size in (64 * KIB, MIB, 4 * MIB, 8 * MIB, 12 * MIB, 16 * MIB, 20 * MIB,
                                                              32 * MIB)]
    cases += [("add", 16 * MIB, "bf16", ""), ("add", 256 * MIB, "bf16", ""), ("add", 2 * GIB, "fp32", ""),
              ("gelu", 16 * MIB, "bf16", ""), ("gelu", 256 * MIB, "bf16", ""), ("gelu", 256 * MIB, "fp32", ""),
              ("scale", 16 * MIB, "fp32", ""), ("scale", GIB, "fp32", "")]
    tensors = {"scale": "", "add": " --reads 2", "gelu": " --flops 20"}
    for what, size, dtype, warm in cases:
        elements = size // (2 if dtype == "bf16" else 4)
        meter.measure("elementwise", f"kernel elementwise --burst{warm} --elements {elements}{tensors[what]} --type {dtype}",
                      lambda: gpu.elementwise(what, size, dtype))
    for size in (KIB, MIB, 16 * MIB, 256 * MIB, GIB, 4 * GIB):
        meter.measure("copy", f"kernel copy --burst --bytes {size}", lambda: gpu.copy(size))
    for tokens, rows, columns, dtype, backward in [
            (1024, 128256, 4096, "bf16", False), (8192, 128256, 4096, "bf16", False), (65536, 128256, 4096, "bf16", False),
            (8192, 50257, 768, "bf16", False), (65536, 1000000, 64, "fp32", False), (8192, 128256, 4096, "bf16", True),
            (8192, 50257, 768, "bf16", True)]:
        meter.measure("embedding", f"kernel embedding --burst --tokens {tokens} --rows {rows} --columns {columns} --type "
                      f"{dtype}" + (" --backward" if backward else ""), lambda: gpu.embedding(tokens, rows, columns, dtype, backward))
    for kind, parameters in [("adamw", 10**6), ("adamw", 10**7), ("adamw", 10**8), ("adamw", 10**9), ("momentum", 10**8)]:
        meter.measure("optimizer", f"kernel optimizer --burst --kind {kind} --parameters {parameters}",
                      lambda: gpu.optimizer(kind, parameters))


def run_factors(meter):
    for batch, n in [(1, 64), (1, 128), (1, 256), (1, 512), (1, 1024), (1, 2048), (1, 4096), (16, 512), (64, 256)]:
        for kind in ("cholesky", "inverse")[:1 if batch > 1 else 2]:
            meter.measure("factors", f"kernel {kind} --burst " + (f"--batch {batch} " if batch > 1 else "") + f"--n {n}",
                          lambda: gpu.factors(batch, n, kind == "inverse"), repetitions=11)


def run_held(meter):
    for dtype, size in [("bf16", 4096), ("bf16", 8192), ("bf16", 16384), ("fp16", 8192), ("fp8", 8192), ("tf32", 8192),
                        ("fp32", 8192), ("fp64", 8192)]:
        meter.hold("held", gemm_arguments(size, size, size, dtype, flags=""), lambda: gpu.gemm(size, size, size, dtype))
    for backward in (False, True):
        meter.hold("held", attention_arguments("CUDNN_ATTENTION", 2, 32, 8, 8192, causal=True, backward=backward, flags=""),
                   lambda: gpu.attention("CUDNN_ATTENTION", 2, 32, 8, 8192, causal=True, backward=backward))
    meter.hold("held", f"kernel copy --bytes {GIB}", lambda: gpu.copy(GIB))
    meter.hold("held", f"kernel elementwise --elements {GIB // 2} --reads 2 --type bf16", lambda: gpu.elementwise("add", GIB))
    meter.hold("held", "kernel norm --rows 65536 --columns 4096 --kind layer", lambda: gpu.norm("layer", 65536, 4096, False))
    if meter.late():
        return
    product, passes, marks = gpu.gemm(8192, 8192, 8192), gpu.elementwise("add", GIB), []

    def both():
        marks.append([torch.cuda.Event(enable_timing=True) for _ in range(3)])
        marks[-1][0].record()
        product()
        marks[-1][1].record()
        passes()
        marks[-1][2].record()
    watts, clock, spun = meter.back_to_back(both, 4.0)[2:]
    half = marks[len(marks) // 2:]
    for name, unit, value in (
            ("product of 8,192, in turn with a sum of 1 GiB", "us", statistics.mean(a.elapsed_time(b) for a, b, _ in half) * 1e3),
            ("sum of two tensors of 1 GiB, in turn with it", "us", statistics.mean(b.elapsed_time(c) for _, b, c in half) * 1e3),
            ("power of both in turn", "W", float(watts)), ("clock of both in turn", "MHz", float(clock or spun))):
        meter.write(suite="figures", metric=name, unit=unit, value=value)
    values = torch.zeros(8192, 8192, device="cuda", dtype=torch.bfloat16)
    result = torch.empty_like(values)
    each, _, watts, clock, spun = meter.back_to_back(lambda: torch.mm(values, values.t(), out=result), 2.0)
    for name, unit, value in (("held product of 8,192 of zeros", "us", statistics.mean(each)),
                              ("its power", "W", float(watts)), ("its clock", "MHz", float(clock or spun))):
        meter.write(suite="figures", metric=name, unit=unit, value=value)
    summed = torch.randn(GIB // 2, device="cuda")
    each, _, watts, clock, spun = meter.back_to_back(lambda: torch.sum(summed), 2.0)
    for name, unit, value in (("held reading of 2 GiB", "us", statistics.mean(each)), ("its power", "W", float(watts))):
        meter.write(suite="figures", metric=name, unit=unit, value=value)


def durations(profile, wanted):
    """Median, us."""
    return statistics.median([d / 1e3 for _, d, name in profile.kernels if wanted(name)] or [0.0])


def run_beside(meter):
    """A product on what SMs a copy leaves. The copy has a block of 1,024 threads for each of its SMs, starts first and ends
    last, so that the product cannot have its SMs."""
    size, sms = 8192, torch.cuda.get_device_properties(0).multi_processor_count
    product, other = gpu.gemm(size, size, size), torch.cuda.Stream()
    source, target = (torch.ones(GIB, device="cuda", dtype=torch.int32) for _ in range(2))

    def is_copy(name):
        return "copy_blocks" in name

    def is_product(name):
        return not is_copy(name) and not is_spin(name) and "reduce" not in name and "Memset" not in name
    for blocks in (8, 16, 32, 64):
        if meter.late() or not gpu.triton:
            return
        words = int(min(GIB - 1, blocks * 4e9 * 2.2e-3 * 2)) // 16384 * 16384
        gpu.copy_on(blocks, source, target, words)
        with Profile() as alone:
            for _ in range(10):
                torch.sum(meter.scratch)
                gpu.copy_on(blocks, source, target, words)
        with Profile() as both:
            for _ in range(10):
                time.sleep(0.01)
                torch.sum(meter.scratch)
                torch.cuda._sleep(300000)
                start = torch.cuda.Event()
                start.record()
                other.wait_event(start)
                with torch.cuda.stream(other):
                    gpu.copy_on(blocks, source, target, words)
                torch.cuda._sleep(20000)
                product()
                torch.cuda.synchronize()
        meter.write(suite="beside", metric=f"kernel copy --burst --sms {blocks} --bytes {4 * words}", unit="us",
                    value=durations(alone, is_copy), repetitions=10)
        for name, wanted in (("product", is_product), ("copy", is_copy)):
            meter.write(suite="beside", metric=f"{name}: kernel gemm --burst --m {size} --n {size} --k {size} "
                        f"--sms {sms - blocks} --with 'copy --bytes {4 * words}' --with-sms {blocks}", unit="us",
                        value=durations(both, wanted), repetitions=10)


def per_launch(count, launch):
    """us on the device, after a kernel that lasts until the host has launched all, and on the host."""
    begin, done = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    torch.cuda._sleep(40_000_000)
    begin.record()
    start = time.perf_counter()
    for _ in range(count):
        launch()
    host = time.perf_counter() - start
    done.record()
    torch.cuda.synchronize()
    return begin.elapsed_time(done) * 1e3 / count, host * 1e6 / count


def run_figures(meter):
    """What has no command of Weft."""
    def figure(name, unit, value):
        meter.write(suite="figures", metric=name, unit=unit, value=value)
    if meter.device:
        samples, stop = [], threading.Event()
        watcher = threading.Thread(target=meter.watch, args=(samples, stop))
        torch.cuda.synchronize()
        time.sleep(0.3)
        watcher.start()
        time.sleep(0.8)
        stop.set()
        watcher.join()
        figure("idle power", "W", (samples[-1][1] - samples[0][1]) / (samples[-1][0] - samples[0][0]))
        figure("idle SM clock", "MHz", samples[-1][2])
        figure("highest SM clock", "MHz", pynvml.nvmlDeviceGetMaxClockInfo(meter.device, pynvml.NVML_CLOCK_SM))
        figure("memory clock", "MHz", pynvml.nvmlDeviceGetClockInfo(meter.device, pynvml.NVML_CLOCK_MEM))
        figure("power limit", "W", pynvml.nvmlDeviceGetEnforcedPowerLimit(meter.device) / 1e3)
    empty = lambda: torch.cuda._sleep(0)
    per_launch(10, empty)
    device, host = per_launch(500, empty)
    figure("empty kernel after empty kernel, queued", "us", device)
    figure("launch of an empty kernel from Python, host", "us", host)
    with Profile() as profile:
        for _ in range(200):
            empty()
    figure("empty kernel, duration", "us", durations(profile, is_spin))
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(1000):
            empty()
    graph.replay()
    figure("node of a CUDA graph, empty kernels in a row", "us", per_launch(5, graph.replay)[0] / 1000)
    streams = [torch.cuda.current_stream(), torch.cuda.Stream()]

    def hop():
        for here, there in (streams, streams[::-1]):
            with torch.cuda.stream(here):
                empty()
                event = torch.cuda.Event()
                event.record()
            there.wait_event(event)
    hop()
    figure("empty kernel, event, the other stream's wait", "us", per_launch(150, hop)[0] / 2)
    for size in (4 * KIB, 64 * KIB, MIB, 16 * MIB, 256 * MIB, GIB):
        if meter.late():
            return
        up, down = (torch.ones(size, dtype=torch.uint8, pin_memory=True) for _ in range(2))
        a, b = (torch.ones(size, dtype=torch.uint8, device="cuda") for _ in range(2))
        for both in (False, True):
            with Profile() as profile:
                for _ in range(5 if size > 64 * MIB else 20):
                    a.copy_(up, non_blocking=True)
                    if not both:
                        torch.cuda.synchronize()
                    with torch.cuda.stream(streams[1]):
                        down.copy_(b, non_blocking=True)
                    torch.cuda.synchronize()
            for way in ("HtoD", "DtoH"):
                figure(f"{way}{' beside the other direction' if both else ''}, {size} bytes, pinned", "us",
                       durations(profile, lambda name: way in name))


SECTIONS = {"gemm": run_gemm, "passes": run_passes, "attention": run_attention, "convolution": run_convolution,
            "types": run_types, "held": run_held, "factors": run_factors, "figures": run_figures, "beside": run_beside,
            "power": gpu_power.run_power}
