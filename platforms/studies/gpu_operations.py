# SPDX-License-Identifier: Apache-2.0
"""Operations that measure_gpu.py measures. Each function makes the operands and gives the operation to repeat."""
import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

try:
    import triton
    import triton.language as tl
except ImportError:
    triton = None

if triton:
    @triton.jit
    def copy_blocks(source, target, count, BLOCK: tl.constexpr):
        for first in range(tl.program_id(0) * BLOCK, count, tl.num_programs(0) * BLOCK):
            at = first + tl.arange(0, BLOCK)
            tl.store(target + at, tl.load(source + at))


def randn(*shape, dtype="bf16"):
    types = {"bf16": torch.bfloat16, "fp16": torch.float16, "tf32": torch.float32, "fp32": torch.float32,
             "fp64": torch.float64}
    if dtype == "fp8":
        return torch.randn(*shape, device="cuda", dtype=torch.bfloat16).to(torch.float8_e4m3fn)
    if dtype == "int8":
        return torch.randint(-128, 128, shape, device="cuda", dtype=torch.int8)
    return torch.randn(*shape, device="cuda", dtype=types[dtype])


def gemm(m, n, k, dtype="bf16", batch=1, full=False, sparse=False):
    """x W^T, as a linear layer: both operands have k innermost."""
    lead = () if batch == 1 else (batch,)
    x, w = randn(*lead, m, k, dtype=dtype), randn(*lead, n, k, dtype=dtype).transpose(-1, -2)
    torch.set_float32_matmul_precision("high" if dtype == "tf32" else "highest")
    if dtype == "fp8":
        one = torch.ones((), device="cuda")
        return lambda: torch._scaled_mm(x, w, one, one, out_dtype=torch.bfloat16, use_fast_accum=not full)
    if dtype == "int8":
        return lambda: torch._int_mm(x, w)
    if sparse:
        kept = torch.tensor([1, 1, 0, 0], device="cuda", dtype=x.dtype).repeat(k // 4)
        halved = torch.sparse.to_sparse_semi_structured(x * kept)
        return lambda: torch.mm(halved, w)
    y = torch.empty(*lead, m, n, device="cuda", dtype=x.dtype)
    return lambda: torch.matmul(x, w, out=y)


def attention(backend, batch, heads, kv_heads, seq, dim=128, keys=0, causal=False, backward=False):
    def tokens(count, length):
        return randn(batch, length, count, dim).transpose(1, 2).requires_grad_(backward)
    q, k, v = tokens(heads, seq), tokens(kv_heads, keys or seq), tokens(kv_heads, keys or seq)

    def forward():
        with sdpa_kernel(getattr(SDPBackend, backend)):
            return F.scaled_dot_product_attention(q, k, v, is_causal=causal, enable_gqa=heads != kv_heads)
    return gradient(forward, q, k, v) if backward else forward


def gradient(forward, *inputs):
    result = forward()
    change = torch.randn_like(result)
    return lambda: torch.autograd.grad(result, inputs, change, retain_graph=True)


def convolution(batch, c_in, c_out, size, kernel, stride, pad, groups, dtype, which):
    x = randn(batch, c_in, size, size, dtype=dtype).to(memory_format=torch.channels_last)
    w = randn(c_out, c_in // groups, kernel, kernel, dtype=dtype).to(memory_format=torch.channels_last)

    def forward():
        return F.conv2d(x, w, None, stride, pad, 1, groups)
    if which == "forward":
        return forward
    change = torch.randn_like(forward())
    wanted = [which == "data-gradient", which == "weight-gradient", False]
    return lambda: torch.ops.aten.convolution_backward(change, x, w, None, [stride] * 2, [pad] * 2, [1, 1], False, [0, 0],
                                                       groups, wanted)


def norm(kind, rows, columns, backward, dtype="bf16"):
    if kind == "batch":  # pixels of 128 images
        side = int((rows // 128) ** 0.5)
        x = randn(128, columns, side, side, dtype=dtype).to(memory_format=torch.channels_last)
        weight, bias = torch.ones(columns, device="cuda"), torch.zeros(columns, device="cuda")
        mean, variance = torch.zeros_like(weight), torch.ones_like(weight)
    else:
        x = randn(rows, columns, dtype=dtype)
        weight, bias = torch.ones_like(x[0]), torch.zeros_like(x[0])
    inputs = [t.requires_grad_(backward) for t in ([x, weight] if kind == "rms" else [x, weight, bias])]
    forward = {"layer": lambda: F.layer_norm(x, (columns,), weight, bias),
               "rms": lambda: F.rms_norm(x, (columns,), weight),
               "batch": lambda: F.batch_norm(x, mean, variance, weight, bias, training=True)}[kind]
    return gradient(forward, *inputs) if backward else forward


def elementwise(what, size, dtype="bf16"):
    """`size` is of one tensor, in bytes."""
    count = size // (2 if dtype == "bf16" else 4)
    a = randn(count, dtype=dtype)
    b = torch.empty_like(a)
    if what == "add":
        c = torch.ones_like(a)
        return lambda: torch.add(a, c, out=b)
    return {"scale": lambda: torch.mul(a, 1.5, out=b), "gelu": lambda: torch._C._nn.gelu(a, out=b)}[what]


def copy(size):
    a, b = (torch.ones(size, device="cuda", dtype=torch.uint8) for _ in range(2))
    return lambda: b.copy_(a)


def embedding(tokens, rows, columns, dtype, backward):
    index = torch.randint(0, rows, (tokens,), device="cuda")
    if backward:
        change = randn(tokens, columns, dtype=dtype)
        return lambda: torch.ops.aten.embedding_dense_backward(change, index, rows, -1, False)
    table = randn(rows, columns, dtype=dtype)
    return lambda: F.embedding(index, table)


def optimizer(kind, parameters):
    p, g, m, v = (torch.full((parameters,), 1e-3, device="cuda") for _ in range(4))
    if kind == "momentum":
        return lambda: torch._fused_sgd_([p], [g], [m], weight_decay=0.0, momentum=0.9, lr=1e-3, dampening=0.0,
                                         nesterov=False, maximize=False, is_first_step=False)
    step = torch.ones((), device="cuda")
    return lambda: torch._fused_adamw_([p], [g], [m], [v], [], [step], lr=1e-3, beta1=0.9, beta2=0.999, weight_decay=0.01,
                                       eps=1e-8, amsgrad=False, maximize=False)


def factors(batch, n, inverse):
    x = torch.randn(batch, n, n, device="cuda")
    a = x @ x.transpose(1, 2) / n + torch.eye(n, device="cuda")
    a = a[0] if batch == 1 else a
    if inverse:
        return lambda: torch.cholesky_inverse(torch.linalg.cholesky_ex(a).L)
    return lambda: torch.linalg.cholesky_ex(a)


def copy_on(blocks, source, target, words):
    """A copy by so many blocks of 1,024 threads."""
    copy_blocks[(blocks,)](source, target, words, BLOCK=16384, num_warps=32)
