#!/bin/sh
# Products of matrices on the one GPU that CUDA_VISIBLE_DEVICES (ROCR_VISIBLE_DEVICES) names, with PyTorch or CuPy.
# A site may put its own in its place (GIVEWAY_BENCHMARK_GPU): whatever it prints as seconds=… counts, else its whole time.
if command -v nvidia-smi > /dev/null 2>&1; then
    echo "driver=$(nvidia-smi --id="$GIVEWAY_DEVICE" --query-gpu=driver_version --format=csv,noheader)"
    echo "firmware=$(nvidia-smi --id="$GIVEWAY_DEVICE" --query-gpu=vbios_version --format=csv,noheader)"
fi
exec python3 - <<'END'
import time


def with_torch():
    import torch

    if not torch.cuda.is_available():
        raise ImportError("torch sees no GPU")
    matrix = torch.rand(8192, 8192, device="cuda")
    return lambda: (matrix @ matrix, torch.cuda.synchronize())


def with_cupy():
    import cupy

    matrix = cupy.random.rand(8192, 8192, dtype=cupy.float32)
    return lambda: (matrix @ matrix, cupy.cuda.Stream.null.synchronize())


for made in (with_torch, with_cupy):
    try:
        step = made()
        break
    except ImportError:
        continue
else:
    raise SystemExit("neither PyTorch nor CuPy is installed with a GPU; set GIVEWAY_BENCHMARK_GPU to a script of your own")
for _ in range(5):
    step()
began = time.perf_counter()
for _ in range(50):
    step()
print(f"seconds={time.perf_counter() - began:.6f}")
END
