# SPDX-License-Identifier: Apache-2.0
"""Compares Tenon with onnxruntime on recurrent layers, Fourier transforms and a spectrogram's front end.

Usage: check_signals.py TENON. The networks are those of scripts/models/signals.py. Each becomes one plan without any
shapes, which runs two sets of shapes, on one thread and on two. Relative tolerance 1e-3, absolute 1e-5 of the largest
element, since onnxruntime transforms in 32-bit floats. Transforms of 64-bit floats of many lengths are compared with NumPy's,
to 1e-13 of the largest element."""

import os
import sys
import tempfile

import numpy as np
import onnxruntime
from onnx import TensorProto

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [os.path.join(ROOT, "tests", "cli"), os.path.join(ROOT, "scripts", "models")]
import signals  # noqa: E402
from checks import ProgramChecks  # noqa: E402

RELATIVE, ABSOLUTE = 1e-3, 1e-5
EXTENTS = ({"batch": 1, "steps": 7, "samples": 4000, "e0": 3, "e1": 60}, {"batch": 9, "steps": 12, "samples": 16001, "e0": 49, "e1": 37})


class Checks(ProgramChecks):
    def run(self, text, plan, inputs, outputs, threads):
        """The outputs of one run by name, or None."""
        files = {name: os.path.join(self.folder, f"{name}.out.npy") for name in outputs}
        options = ["--threads", str(threads)]
        for name, value in inputs.items():
            file = os.path.join(self.folder, f"{name}.npy")
            np.save(file, value)
            options += ["--input", f"{name}={file}"]
        for name, file in files.items():
            options += ["--output", f"{name}={file}"]
        if not self.command(f"run {text}", "run", plan, *options):
            return None
        return {name: np.load(file) for name, file in files.items()}

    def command(self, text, *arguments):
        done = self.program(*arguments)
        self.say(done.returncode == 0, f"{text}: exit {done.returncode} {done.stderr.strip()}")
        return done.returncode == 0

    def compare(self, text, results, expected):
        for name, right in expected.items():
            result = results[name]
            same = result.shape == right.shape and result.dtype == right.dtype
            largest = max(1, np.abs(right).max(initial=0))
            good = same and np.allclose(result, right, rtol=RELATIVE, atol=ABSOLUTE * largest)
            apart = np.abs(result - right).max(initial=0) if same else float("nan")
            self.say(good, f"{text}: {name} {result.dtype}{list(result.shape)}, largest difference {apart:.1e} of {largest:.1e}")


def inputs_of(session, extents, rng):
    """Random inputs. Sequences have lengths from 1 to all steps, the first one all."""
    inputs = {}
    for port in session.get_inputs():
        shape = [extent if isinstance(extent, int) else extents[extent] for extent in port.shape]
        if port.type == "tensor(int32)":
            inputs[port.name] = rng.integers(1, extents["steps"] + 1, shape).astype(np.int32)
            inputs[port.name][0] = extents["steps"]
        else:
            inputs[port.name] = rng.uniform(-1, 1, shape).astype(np.float32)
    return inputs


def check(checks, name, make):
    rng = np.random.default_rng(3)
    path, plan = (os.path.join(checks.folder, f"{name}.{kind}") for kind in ("onnx", "plan"))
    with open(path, "wb") as file:
        file.write(make().SerializeToString())
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    outputs = [port.name for port in session.get_outputs()]
    if not checks.command(f"build {name}", "build", path, "-o", plan):
        return
    for threads, extents in enumerate(EXTENTS, start=1):
        inputs = inputs_of(session, extents, rng)
        expected = dict(zip(outputs, session.run(outputs, inputs)))
        results = checks.run(name, plan, inputs, outputs, threads)
        if results:
            checks.compare(f"{name}, {', '.join(f'{key} {list(value.shape)}' for key, value in inputs.items())}", results, expected)


# Each radix alone and with the others, primes and what has a prime factor, powers of two up to one that no cache holds.
LENGTHS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 15, 16, 25, 27, 30, 31, 49, 60, 97, 125, 243, 360, 400, 511, 625, 997, 1000, 1024, 2310, 4099,
           65536, 100003)


def check_lengths(checks, name, make, numpy_transform):
    """`make` is the model of a real or complex transform; `numpy_transform` its result from complex rows."""
    rng = np.random.default_rng(5)
    path, plan = (os.path.join(checks.folder, f"{name}.{kind}") for kind in ("onnx", "plan"))
    model = make(kind=TensorProto.DOUBLE)
    with open(path, "wb") as file:
        file.write(model.SerializeToString())
    if not checks.command(f"build {name}", "build", path, "-o", plan):
        return
    parts = model.graph.input[0].type.tensor_type.shape.dim[-1].dim_value
    for length in LENGTHS:
        extent = length // 2 + 1 if name == "to_real" else length
        if name == "to_real" and length % 2:
            continue
        x = rng.uniform(-1, 1, (3 if length > 9999 else 11, extent, parts))
        result = checks.run(f"{name} of {length}", plan, {"x": x}, ["y"], 1 + length % 2)
        if result is None:
            continue
        right = numpy_transform(x[..., 0] + (1j * x[..., 1] if parts == 2 else 0))
        right = right[..., None] if name == "to_real" else np.stack((right.real, right.imag), -1)
        same = result["y"].shape == right.shape
        apart = np.abs(result["y"] - right).max() / max(1, np.abs(right).max()) if same else float("nan")
        checks.say(apart <= 1e-13, f"{name} of {length}: {list(result['y'].shape)}, largest difference {apart:.1e}")


def main():
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(prefix="tenon-signals.") as folder:
        checks = Checks(sys.argv[1], folder)
        for name, make in signals.NETWORKS.items():
            check(checks, name, make)
        check_lengths(checks, "complex", lambda **more: signals.transform(parts=2, **more), np.fft.fft)
        check_lengths(checks, "inverse", lambda **more: signals.transform(parts=2, inverse=1, **more), np.fft.ifft)
        check_lengths(checks, "real", signals.transform, np.fft.fft)
        check_lengths(checks, "onesided", lambda **more: signals.transform(onesided=1, **more), lambda x: np.fft.rfft(x.real))
        check_lengths(checks, "to_real", lambda **more: signals.transform(parts=2, inverse=1, onesided=1, **more), np.fft.irfft)
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
