#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A network served by Tenon and by onnxruntime in the same server, and an echo of its shapes: requests a second, p50 and p99.

Usage: PYTHONPATH=build/python PYTHON bench/serve.py MODEL.onnx [--clients 2] [--protocol grpc|http] [--rounds 5] [--seconds 2] [--contexts 2]
PYTHON: one with what tenon-engine[serve] needs, tritonclient and onnxruntime. The three models are asked in turns; of each figure the
best round is shown, and the spread of requests a second over the rounds. Last comes what serving costs with one client: a request, less the echo's
and less a plain run, request by request in turns.
"""

import argparse
import functools
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
    backends = {"tenon": ours, "onnxruntime": Backend(ours.spec, lambda: Session(session)), "echo": Backend(ours.spec, lambda: Echo(sample))}
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


def added(arguments, engine, address, x):
    """What serving adds to a plain run beyond the echo: (p50, p5) of requests less those of the echo's and of runs, and of the runs, all ms. One client asks
    the two in turns and runs between them, so that other work on the machine meets all three alike."""
    module = importlib.import_module(f"tritonclient.{arguments.protocol}")
    tensor = module.InferInput(x[0], list(x[1].shape), "FP32")
    tensor.set_data_from_numpy(x[1])
    context, times = engine.context(), {"tenon": [], "echo": [], "run": []}
    end = time.perf_counter() + arguments.seconds * arguments.rounds
    with module.InferenceServerClient(address) as client:
        work = {name: functools.partial(client.infer, name, [tensor]) for name in ("tenon", "echo")}
        work["run"] = functools.partial(context.run, {x[0]: x[1]})
        while time.perf_counter() < end:
            for name, call in work.items():
                start = time.perf_counter()
                call()
                times[name].append((time.perf_counter() - start) * 1e3)
    points = {name: np.percentile(of, (50, 5)) for name, of in times.items()}
    return points["tenon"] - points["echo"] - points["run"], points["run"]


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
            costs, runs = added(arguments, tenon.Plan(plan).engine(threads=arguments.threads), address, x)
        finally:
            server.terminate()
            server.wait()
    print(f"{arguments.model}, {arguments.protocol}, {arguments.clients} clients, {arguments.contexts} contexts of {arguments.threads} threads")
    print("| model | requests/s | spread | p50 ms | p99 ms |\n|-|-|-|-|-|")
    for name, of in rounds.items():
        rates = [rate for rate, _, _ in of]
        print(f"| {name} | {max(rates):.0f} | {min(rates):.0f}..{max(rates):.0f} | {min(p50 for _, p50, _ in of):.2f} | "
              f"{min(p99 for _, _, p99 in of):.2f} |")
    print(f"one client: p50 {costs[0]:.2f} ms, p5 {costs[1]:.2f} ms beyond the echo and a plain run (p50 {runs[0]:.3f} ms, p5 {runs[1]:.3f} ms)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
