#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times operators and small networks of them in Tenon and in onnxruntime in turns, in one run: operators.py [TEXT ...]

Groups: recurrent, transforms, bodies, selections, quantised, attention, forests. With TEXT, what has one of them in `group: name`.
Prints the least milliseconds of each side and their ratio, and last what is above 1.0. A line `differs` says that the results
are not the same within 1e-3. --threads N (1), --rounds N (6), --slice SECONDS (0.2) of each round and side.
Needs onnx and onnxruntime (.venv has them after `make test`); the program is build/bin/tenon or $TENON. Compare figures of one
run only: clocks drift and machines are shared."""
import argparse
import os
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnx
import onnxruntime

from side_by_side import figures_of, root, tenon

sys.path.insert(0, os.path.join(root, "scripts", "models"))
import make_forest  # noqa: E402
import node_cases  # noqa: E402
import selection  # noqa: E402
import signals  # noqa: E402

STEPS, FEATURES = 100, 30


def recurrent_cases():
    def case(kind, depth, hidden, batch, varies=False, **fields):
        def make():
            model = signals.recurrent(kind, depth, hidden, steps=STEPS, batch=batch, **fields)
            feed = {"X": np.random.default_rng(1).random((STEPS, batch, depth), np.float32)}
            if fields.get("lengths"):
                feed["lengths"] = np.random.default_rng(1).integers(1, STEPS + 1, batch).astype(np.int32)
            for weights in [item for item in model.graph.initializer if varies and item.name in "WR"]:
                model.graph.initializer.remove(weights)
                model.graph.input.append(onnx.helper.make_tensor_value_info(weights.name, weights.data_type, weights.dims))
                feed[weights.name] = onnx.numpy_helper.to_array(weights)
            return model, feed
        return make
    for kind in ("LSTM", "GRU", "RNN"):
        for depth, hidden in ((64, 64), (64, 128), (128, 256), (256, 512)):
            for batch in (1, 8):
                yield f"{kind} {depth} to {hidden}, batch {batch}", case(kind, depth, hidden, batch)
        for batch in (1, 8):
            yield f"{kind} 64 to 128, both directions, batch {batch}", case(kind, 64, 128, batch, directions=2)
        for batch in (4, 32):
            yield f"{kind} 64 to 128, batch {batch}", case(kind, 64, 128, batch)
        yield f"{kind} 64 to 128, lengths, batch 8", case(kind, 64, 128, 8, lengths=True)
        yield f"{kind} 64 to 128, weights as inputs, batch 1", case(kind, 64, 128, 1, varies=True, directions=2)
    yield "GRU 64 to 128, linear_before_reset, batch 1", case("GRU", 64, 128, 1, linear_before_reset=1)
    yield "GRU 64 to 128, linear_before_reset, batch 8", case("GRU", 64, 128, 8, linear_before_reset=1)
    yield "LSTM 64 to 128, peepholes, batch 1", case("LSTM", 64, 128, 1, peepholes=True)


def transform_cases():
    random = np.random.default_rng(1)
    yield "front end, 10 s of 16 kHz", lambda: (signals.front_end(), {"signal": random.random((1, 160000), np.float32)})
    for rows, length in ((64, 512), (64, 400), (64, 1000), (64, 997), (1, 65536)):
        yield f"DFT of {rows} x {length}", lambda rows=rows, length=length: (
            signals.transform(onesided=1, extents=[rows, length, 1]), {"x": random.random((rows, length, 1), np.float32)})


def selection_case(rows, columns):
    with tempfile.TemporaryDirectory() as folder:
        selection.make(f"{folder}/m.onnx", rows, columns)
        return onnx.load(f"{folder}/m.onnx"), selection.values(rows, columns)


def forest_cases():
    forests = {"3 classes": {}, "2 classes": {"classes": 2}, "regressor": {"classes": 1, "regressor": True}}
    for name, fields in forests.items():
        for rows in (1, 1000):
            def make(fields=fields, rows=rows):
                with tempfile.TemporaryDirectory() as folder:
                    make_forest.make(f"{folder}/m.onnx", features=FEATURES, **fields)
                    return onnx.load(f"{folder}/m.onnx"), {"x": np.random.default_rng(1).standard_normal((rows, FEATURES), np.float32)}
            yield f"{name}, depth 10, {rows} rows", make


def cases():
    groups = {"recurrent": dict(recurrent_cases()), "transforms": dict(transform_cases()), **node_cases.CASES, "forests": dict(forest_cases())}
    for size in ((8, 512), (64, 4096)):
        groups["selections"][f"network of selections, {size[0]} x {size[1]}"] = lambda size=size: selection_case(*size)
    for group, members in groups.items():
        for name, make in members.items():
            yield f"{group}: {name}", make


class Session:
    """onnxruntime with inputs bound once, so that its Python interface counts as little as may be."""

    def __init__(self, path, feed, threads):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
        options.log_severity_level = 3
        self.session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        self.feed, self.binding = feed, self.session.io_binding()
        for name, value in feed.items():
            self.binding.bind_cpu_input(name, np.require(value, requirements="C"))
        for port in self.session.get_outputs():
            self.binding.bind_output(port.name)

    def time(self, seconds):
        run, session, binding = self.session.run_with_iobinding, self.session, self.binding
        least, count, end = float("inf"), 0, time.perf_counter() + seconds
        while time.perf_counter() < end or count < 3:
            before = time.perf_counter()
            run(binding)
            least, count = min(least, time.perf_counter() - before), count + 1
        return least * 1e3

    def results(self):
        return {port.name: value for port, value in zip(self.session.get_outputs(), self.session.run(None, self.feed))}


def given(folder, feed):
    """The inputs as files, for the command line."""
    arguments = []
    for name, value in feed.items():
        np.save(f"{folder}/{name}.npy", value)
        arguments += ["--input", f"{name}={folder}/{name}.npy"]
    return arguments


def difference(folder, inputs, session):
    """The outputs that differ, with how much relative to the largest element."""
    subprocess.run([tenon, "run", f"{folder}/m.plan", *inputs, "--output-dir", f"{folder}/out"], check=True, capture_output=True)
    for name, expected in session.results().items():
        ours = np.load(f"{folder}/out/{name}.npy")
        if ours.shape != expected.shape:
            return f"{name}: shape {ours.shape}, not {expected.shape}"
        if expected.size and expected.dtype.kind in "fiu":
            with np.errstate(invalid="ignore"):
                error = np.nanmax(np.abs(ours.astype(np.float64) - expected.astype(np.float64)))
            if error > 1e-3 * max(1, np.nanmax(np.abs(expected.astype(np.float64)))):
                return f"{name}: {error:.3g}"
    return None


def measure(name, make, options):
    with tempfile.TemporaryDirectory() as folder:
        model, feed = make()
        feed = {port: np.asarray(value) for port, value in feed.items()}
        onnx.save(model, f"{folder}/m.onnx")
        session, inputs = Session(f"{folder}/m.onnx", feed, options.threads), given(folder, feed)
        command = [tenon, "build", f"{folder}/m.onnx", "-o", f"{folder}/m.plan", "--threads", str(options.threads)]
        for port, value in feed.items():
            command += ["--shape", f"{port}={'x'.join(map(str, value.shape))}"] if value.ndim else []
        subprocess.run(command, check=True, capture_output=True)
        differs = difference(folder, inputs, session)
        ours, theirs = [], []
        bench = [tenon, "bench", f"{folder}/m.plan", "--threads", str(options.threads), "--seconds", str(options.slice), *inputs]
        for _ in range(options.rounds):
            theirs.append(session.time(options.slice))
            ours.append(figures_of(bench)[0])
    ratio = min(ours) / min(theirs)
    print(f"{name}: tenon {min(ours):.4f} ms, onnxruntime {min(theirs):.4f} ms, ratio {ratio:.2f}" +
          (f" differs {differs}" if differs else ""), flush=True)
    return ratio


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("texts", nargs="*", metavar="TEXT")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--slice", type=float, default=0.2)
    options = parser.parse_args()
    os.sched_setaffinity(0, list(range(os.cpu_count()))[-options.threads:])
    above = []
    for name, make in cases():
        if options.texts and not any(text in name for text in options.texts):
            continue
        try:
            ratio = measure(name, make, options)
        except subprocess.CalledProcessError as error:
            print(f"{name}: {error.stderr.decode().strip().splitlines()[-1] if error.stderr else error}", flush=True)
            continue
        except Exception as error:  # onnxruntime refuses
            print(f"{name}: {str(error).splitlines()[0]}", flush=True)
            continue
        if ratio > 1:
            above.append(f"{ratio:.2f} {name}")
    print("\n".join(["above 1.0:", *sorted(above, reverse=True)]) if above else "none is above 1.0")


if __name__ == "__main__":
    main()
