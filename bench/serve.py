#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A network served by Tenon and by onnxruntime in the same server, and an echo of its shapes: requests a second, p50 and p99.

Usage: PYTHONPATH=build/python PYTHON bench/serve.py MODEL.onnx [--clients 2] [--protocol grpc|http] [--rounds 5] [--seconds 2] [--contexts 2]
PYTHON: one with what tenon-engine[serve] needs, tritonclient and onnxruntime. The three models are asked in turns; of each figure the
best round is shown, and the spread of requests a second over the rounds. Last comes what serving costs with one client: a request, less its
run and less the echo, by the clock and in processor time.
"""

import argparse
import contextlib
import importlib
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time

import numpy as np
import tenon

MODELS = ("tenon", "onnxruntime", "echo")


def ports():
    sockets = [socket.socket() for _ in range(3)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    found = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return found


class Session:
    """A context of onnxruntime's: a session serves all threads."""

    def __init__(self, session):
        self._session = session
        self._names = [output.name for output in session.get_outputs()]

    def run(self, arrays):
        return dict(zip(self._names, self._session.run(None, arrays)))

    def cancel(self):
        return False


class Echo:
    def __init__(self, outputs):
        self._outputs = outputs

    def run(self, arrays):
        return self._outputs

    def cancel(self):
        return False


class Timed:
    """A context whose newest run's ms, by the clock and of its thread, are in a file that the client reads."""

    def __init__(self, context, plan):
        self._context, self._ms = context, np.memmap(plan + ".ms", np.float64, "r+")

    def run(self, arrays):
        start, cpu = time.perf_counter(), time.thread_time()
        outputs = self._context.run(arrays)
        self._ms[:] = (time.perf_counter() - start) * 1e3, (time.thread_time() - cpu) * 1e3
        return outputs

    def cancel(self):
        return self._context.cancel()


class Backend:
    def __init__(self, spec, make):
        self.spec, self.context = spec, make


def serve(model, plan, contexts, threads, http_port, grpc_port, metrics_port):
    import onnxruntime
    from tenon.serve import Model, Settings
    from tenon.serve._served import PlanBackend
    from tenon.serve._server import serve as serve_settings
    runtime = tenon.Runtime(environment=False)
    ours = PlanBackend(runtime, Model("tenon", plan, threads=threads), [])
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    first = ours.spec.profiles[0]
    sample = ours.context().run({name: np.zeros(bounds[1], np.float32) for name, bounds in first.items()})
    makes = {"tenon": lambda: Timed(ours.context(), plan), "onnxruntime": lambda: Session(session), "echo": lambda: Timed(Echo(sample), plan)}
    backends = {name: Backend(ours.spec, make) for name, make in makes.items()}
    settings = Settings([Model(name, plan, contexts=contexts, threads=threads) for name in MODELS], http_port=http_port, grpc_port=grpc_port,
                        metrics_port=metrics_port)
    serve_settings(settings.check(), lambda served: backends[served.name])


def ask(protocol, address, name, x, seconds, times):
    """Appends the seconds of requests, one after the other, until `seconds` are over."""
    module = importlib.import_module(f"tritonclient.{protocol}")
    client = module.InferenceServerClient(address)
    tensor = module.InferInput(x[0], list(x[1].shape), "FP32")
    tensor.set_data_from_numpy(x[1])
    client.infer(name, [tensor])
    end = time.perf_counter() + seconds
    now = time.perf_counter()
    while now < end:
        client.infer(name, [tensor])
        then, now = now, time.perf_counter()
        times.append(now - then)
    client.close()


def wait_for(protocol, address, seconds=120):
    """Until the server answers. Raises RuntimeError."""
    module = importlib.import_module(f"tritonclient.{protocol}")
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            with module.InferenceServerClient(address) as client:
                if client.is_server_ready():
                    return
        except Exception:
            pass
        time.sleep(0.2)
    raise RuntimeError(f"the server is not ready after {seconds} s")


def processor_ms(process):
    """Of all its threads."""
    total = 0
    for task in os.listdir(f"/proc/{process}/task"):
        with contextlib.suppress(OSError), open(f"/proc/{process}/task/{task}/schedstat", encoding="ascii") as file:
            total += int(file.read().split()[0])
    return total / 1e6


def added(arguments, plan, address, x, server):
    """Rows "clock" and "processor" of (median, 5th percentile), all ms: what serving adds to its own run beyond the echo; the echo, less its run; the
    run in the server; a plain run.

    One client asks the two in turns, each behind a plain run of the plan, read as the server reads it, so that other work on the machine, and
    caches, meet both alike. Processor time is that of the server, and of the plain runs.
    """
    module = importlib.import_module(f"tritonclient.{arguments.protocol}")
    tensor = module.InferInput(x[0], list(x[1].shape), "FP32")
    tensor.set_data_from_numpy(x[1])
    with open(plan, "rb") as file:
        context = tenon.Plan(file.read()).engine(threads=arguments.threads).context()
    own, times = np.memmap(plan + ".ms", np.float64, "r"), {"tenon": [], "echo": [], "plain": [], "own": []}
    end = time.perf_counter() + arguments.seconds * arguments.rounds
    with module.InferenceServerClient(address) as client:
        while time.perf_counter() < end:
            for name in ("tenon", "echo"):
                cpu, start = time.process_time(), time.perf_counter()
                context.run({x[0]: x[1]})
                times["plain"].append(((time.perf_counter() - start) * 1e3, (time.process_time() - cpu) * 1e3))
                cpu, start = processor_ms(server), time.perf_counter()
                client.infer(name, [tensor])
                seconds = (time.perf_counter() - start) * 1e3
                time.sleep(1e-3)  # in which threads of the server end their work
                times[name].append(np.array((seconds, processor_ms(server) - cpu)) - own)
                if name == "tenon":
                    times["own"].append(own.copy())
    points = {name: np.percentile(of, (50, 5), axis=0) for name, of in times.items()}
    rows = points["tenon"] - points["echo"], points["echo"], points["own"], points["plain"]
    return {"clock": [row[:, 0] for row in rows], "processor": [row[:, 1] for row in rows]}


def measure(arguments, address, name, x):
    """(requests a second, p50 ms, p99 ms)."""
    times = []
    threads = [threading.Thread(target=ask, args=(arguments.protocol, address, name, x, arguments.seconds, times))
               for _ in range(arguments.clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    p50, p99 = np.percentile(times, (50, 99)) * 1e3
    return len(times) / arguments.seconds, p50, p99


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("--protocol", choices=("grpc", "http"), default="grpc")
    for name, default in (("clients", 2), ("rounds", 5), ("seconds", 2), ("contexts", 2), ("threads", 1)):
        parser.add_argument("--" + name, type=int, default=default)
    parser.add_argument("--serve", nargs=4, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.serve:
        plan, *three = arguments.serve
        return serve(arguments.model, plan, arguments.contexts, arguments.threads, *map(int, three))
    with tempfile.TemporaryDirectory() as folder:
        plan = os.path.join(folder, "net.plan")
        port = tenon.Graph(arguments.model).inputs[0]
        shape = tuple(extent if isinstance(extent, int) else 1 for extent in port.shape)
        tenon.build(arguments.model, shapes={port.name: shape}, threads=arguments.threads).save(plan)
        np.zeros(2).tofile(plan + ".ms")
        x = (port.name, np.random.default_rng(0).random(shape, np.float32))
        three = ports()
        address = f"127.0.0.1:{three[arguments.protocol == 'grpc']}"
        server = subprocess.Popen([sys.executable, __file__, arguments.model, "--contexts", str(arguments.contexts), "--threads",
                                   str(arguments.threads), "--serve", plan, *map(str, three)], stdout=subprocess.DEVNULL)
        try:
            wait_for(arguments.protocol, address)
            rounds = {name: [] for name in MODELS}
            for _ in range(arguments.rounds):
                for name in MODELS:
                    rounds[name].append(measure(arguments, address, name, x))
            rows = added(arguments, plan, address, x, server.pid)
        finally:
            server.terminate()
            server.wait()
    print(f"{arguments.model}, {arguments.protocol}, {arguments.clients} clients, {arguments.contexts} contexts of {arguments.threads} threads")
    print("| model | requests/s | spread | p50 ms | p99 ms |\n|-|-|-|-|-|")
    for name, of in rounds.items():
        rates = [rate for rate, _, _ in of]
        print(f"| {name} | {max(rates):.0f} | {min(rates):.0f}..{max(rates):.0f} | {min(p50 for _, p50, _ in of):.2f} | "
              f"{min(p99 for _, _, p99 in of):.2f} |")
    print("one client, ms (median, 5th percentile): serving a run beyond the echo | the echo | the run in the server | a plain run")
    for kind, points in rows.items():
        print(f"{kind}: " + " | ".join(", ".join(f"{value:.3f}" for value in point) for point in points))
    return 0


if __name__ == "__main__":
    sys.exit(main())
