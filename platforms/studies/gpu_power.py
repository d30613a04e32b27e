# SPDX-License-Identifier: Apache-2.0
"""Power of a GPU against the rate at which it moves bytes or computes: threads on all SMs sleep between their loads, so that
the number of them does not change with the rate. Needs CuPy beside PyTorch, and pynvml."""
import statistics

import torch

try:
    import cupy
except ImportError:
    cupy = None

SOURCE = r"""
extern "C" __global__ __launch_bounds__(1024, 2) void pass(const float4* from, float4* to, long long count, int passes, int sleep) {
  const float4 zero = make_float4(0, 0, 0, 0);
  float4 sum = zero;
  const long long stride = (long long)gridDim.x * blockDim.x;
  for (int p = 0; p < passes; ++p) {
    for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += 4 * stride) {
      float4 got[4];
      #pragma unroll
      for (int j = 0; j < 4; ++j) got[j] = i + j * stride < count ? __ldcg(from + i + j * stride) : zero;
      if (to) {
        #pragma unroll
        for (int j = 0; j < 4; ++j) if (i + j * stride < count) __stcg(to + i + j * stride, got[j]);
      } else {
        #pragma unroll
        for (int j = 0; j < 4; ++j) sum.x += got[j].x + got[j].y + got[j].z + got[j].w;
      }
      if (sleep) __nanosleep(sleep);
    }
  }
  if (sum.x == 0.1234567f) to[0] = sum;  // never, which the compiler does not know
}
extern "C" __global__ __launch_bounds__(1024, 2) void multiply(float* to, long long rounds, int sleep) {
  float x[8];
  #pragma unroll
  for (int j = 0; j < 8; ++j) x[j] = threadIdx.x * 0.5f + j;
  for (long long r = 0; r < rounds; ++r) {
    #pragma unroll
    for (int u = 0; u < 32; ++u)
      #pragma unroll
      for (int j = 0; j < 8; ++j) x[j] = fmaf(x[j], 0.999f, 0.123f);
    if (sleep) __nanosleep(sleep);
  }
  float sum = 0;
  for (int j = 0; j < 8; ++j) sum += x[j];
  if (sum == 0.1234567f) to[0] = sum;
}
extern "C" __global__ void wait(long long rounds) { for (long long r = 0; r < rounds; ++r) __nanosleep(1000); }
"""
THREADS = 1024
SECONDS = 1.6


def run_power(meter):
    if not cupy or not meter.device:
        return
    module = cupy.RawModule(code=SOURCE)
    move, multiply, wait = (module.get_function(name) for name in ("pass", "multiply", "wait"))
    blocks = 2 * torch.cuda.get_device_properties(0).multi_processor_count
    source = torch.randn(1 << 29, device="cuda")  # 2 GiB
    target = torch.empty_like(source)

    def figure(name, unit, kernel, amount, *arguments):
        """Watts, and `amount` of a kernel over its time in 1e12 a second."""
        if meter.late():
            return
        each, _, watts, _, _ = meter.back_to_back(lambda: kernel((blocks,), (THREADS,), arguments), SECONDS)
        meter.write(suite="figures", metric=f"power of {name}", unit="W", value=float(watts))
        if amount:
            meter.write(suite="figures", metric=f"rate of {name}", unit=unit, value=amount / statistics.mean(each) / 1e6)

    def passes(name, size, sleeps, writes=False, times=1):
        for sleep in sleeps:
            size_now = size // 4 if times == 1 and sleep >= 20000 else size  # long enough in either case
            figure(f"{name}, {sleep} ns asleep", "TB/s", move, (2 if writes else 1) * size_now * times, source.data_ptr(),
                   target.data_ptr() if writes else 0, cupy.int64(size_now // 16), cupy.int32(times), cupy.int32(sleep))

    stream = cupy.cuda.ExternalStream(torch.cuda.current_stream().cuda_stream)
    with stream:
        figure("threads that sleep", "", wait, 0, cupy.int64(1000))
        passes("reads", 1 << 31, (0, 5000, 10000, 20000, 40000, 100000))
        passes("reads of the cache", 1 << 24, (0, 1000, 2000, 5000, 20000), times=100)
        passes("copies", 1 << 30, (0, 5000, 10000, 20000, 40000), writes=True)
        source.zero_()
        passes("reads of zeros", 1 << 31, (0,))
        rounds = 200
        for sleep in (0, 1000, 4000):
            figure(f"float32 fma, {sleep} ns asleep", "TFLOPS", multiply, blocks * THREADS * rounds * 32 * 8 * 2,
                   target.data_ptr(), cupy.int64(rounds), cupy.int32(sleep))
