#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A network served by Tenon and by onnxruntime in the same server, and an echo of its shapes: requests a second, p50 and p99.

Usage: PYTHONPATH=build/python PYTHON bench/serve.py MODEL.onnx [--clients 2] [--protocol grpc|http] [--rounds 5] [--seconds 2] [--contexts 2]
PYTHON: one with what tenon-engine[serve] needs, tritonclient and onnxruntime. The three models are asked in turns; of each figure the
best round is shown, and the spread of requests a second over the rounds. Last comes what serving costs with one client, by the clock and in
processor time: a request, less its run and less an echo. The one echo is the server's own, a model that MLServer runs as it comes, in a server of its
own (by gRPC: it reads no tensors as bytes over HTTP); the other one has all of Tenon's serving around it, and shows what the run itself changes.
"""

import argparse
import contextlib
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
OWN_ECHO = "mlserver"
TITLES = {OWN_ECHO: "the server's own echo", "echo": "an echo within Tenon's serving"}


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


def outputs_of(backend):
    """Of a run on zeros."""
    return backend.context().run({name: np.zeros(bounds[1], np.float32) for name, bounds in backend.spec.profiles[0].items()})


def serve(model, plan, http_port, grpc_port, metrics_port, contexts, threads):
    import onnxruntime
    from tenon.serve import Model, Settings
    from tenon.serve._served import PlanBackend
    from tenon.serve._server import serve as serve_settings
    runtime = tenon.Runtime(environment=False)
    ours = PlanBackend(runtime, Model("tenon", plan, threads=threads), [])
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    sample = outputs_of(ours)
    makes = {"tenon": lambda: Timed(ours.context(), plan), "onnxruntime": lambda: Session(session), "echo": lambda: Timed(Echo(sample), plan)}
    backends = {name: Backend(ours.spec, make) for name, make in makes.items()}
    settings = Settings([Model(name, plan, contexts=contexts, threads=threads) for name in MODELS], http_port=http_port, grpc_port=grpc_port,
                        metrics_port=metrics_port)
    serve_settings(settings.check(), lambda served: backends[served.name])


def serve_own_echo(plan, http_port, grpc_port, metrics_port):
    """MLServer with nothing of Tenon's: a model that decodes its inputs and answers with the plan's outputs."""
    import asyncio
    from mlserver import MLModel, MLServer, ModelSettings, Settings
    from mlserver.codecs import NumpyCodec
    from mlserver.registry import MultiModelRegistry
    from mlserver.types import InferenceResponse
    from tenon.serve import Model
    from tenon.serve._served import PlanBackend
    sample = outputs_of(PlanBackend(tenon.Runtime(environment=False), Model(OWN_ECHO, plan), []))

    class Own(MLModel):
        async def predict(self, payload):
            for tensor in payload.inputs:
                self.decode(tensor, default_codec=NumpyCodec)
            return InferenceResponse(model_name=self.name, outputs=[NumpyCodec.encode_output(name, array) for name, array in sample.items()])

    settings = Settings(host="127.0.0.1", http_port=http_port, grpc_port=grpc_port, metrics_port=metrics_port, parallel_workers=0, debug=False,
                        load_models_at_startup=False)
    class Plain(MLServer):
        def _create_model_registry(self):  # which would import the model by its name
            return MultiModelRegistry(model_initialiser=Own)

    asyncio.run(Plain(settings).start([ModelSettings(name=OWN_ECHO, implementation=Own)]))


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


def added(arguments, plan, x, servers):
    """{"clock", "processor": rows of (median, 5th percentile), all ms}: what serving adds to its run beyond each echo; the echoes, less their run; the
    run in the server; a plain run. servers: {model: (address, process)}.

    One client asks the models in turns, each behind a plain run of the plan, read as the server reads it, so that other work on the machine, and
    caches, meet all alike. Processor time is that of the server, and of the plain runs.
    """
    module = importlib.import_module(f"tritonclient.{arguments.protocol}")
    tensor = module.InferInput(x[0], list(x[1].shape), "FP32")
    tensor.set_data_from_numpy(x[1])
    with open(plan, "rb") as file:
        context = tenon.Plan(file.read()).engine(threads=arguments.threads).context()
    own, times = np.memmap(plan + ".ms", np.float64, "r"), {name: [] for name in (*servers, "plain", "run")}
    end = time.perf_counter() + arguments.seconds * arguments.rounds
    with contextlib.ExitStack() as stack:
        clients = {name: stack.enter_context(module.InferenceServerClient(address)) for name, (address, _) in servers.items()}
        while time.perf_counter() < end:
            for name, (_, process) in servers.items():
                cpu, start = time.process_time(), time.perf_counter()
                context.run({x[0]: x[1]})
                times["plain"].append(((time.perf_counter() - start) * 1e3, (time.process_time() - cpu) * 1e3))
                cpu, start = processor_ms(process), time.perf_counter()
                clients[name].infer(name, [tensor])
                seconds = (time.perf_counter() - start) * 1e3
                time.sleep(1e-3)  # in which threads of the server end their work
                spent = np.array((seconds, processor_ms(process) - cpu))
                times[name].append(spent if name == OWN_ECHO else spent - own)  # an own echo has no run
                if name == "tenon":
                    times["run"].append(own.copy())
    points = {name: np.percentile(of, (50, 5), axis=0) for name, of in times.items()}
    echoes = [name for name in (OWN_ECHO, "echo") if name in points]
    rows = {f"a request, less its run and {TITLES[name]}": points["tenon"] - points[name] for name in echoes}
    rows |= {TITLES[name]: points[name] for name in echoes} | {"the run in the server": points["run"], "a plain run": points["plain"]}
    return {kind: {title: row[:, column] for title, row in rows.items()} for column, kind in enumerate(("clock", "processor"))}


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
    parser.add_argument("--serve-own-echo", nargs=4, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    for option, function in (("serve", functools.partial(serve, arguments.model)), ("serve_own_echo", serve_own_echo)):
        if getattr(arguments, option):
            plan, *three = getattr(arguments, option)
            return function(plan, *map(int, three), *([arguments.contexts, arguments.threads] if option == "serve" else []))
    with tempfile.TemporaryDirectory() as folder:
        plan = os.path.join(folder, "net.plan")
        port = tenon.Graph(arguments.model).inputs[0]
        shape = tuple(extent if isinstance(extent, int) else 1 for extent in port.shape)
        tenon.build(arguments.model, shapes={port.name: shape}, threads=arguments.threads).save(plan)
        np.zeros(2).tofile(plan + ".ms")
        x = (port.name, np.random.default_rng(0).random(shape, np.float32))
        with contextlib.ExitStack() as stack:
            address, process = stack.enter_context(started(arguments, "--serve", plan))
            rounds = {name: [] for name in MODELS}
            for _ in range(arguments.rounds):
                for name in MODELS:
                    rounds[name].append(measure(arguments, address, name, x))
            servers = {"tenon": (address, process), "echo": (address, process)}
            if arguments.protocol == "grpc":
                servers[OWN_ECHO] = stack.enter_context(started(arguments, "--serve-own-echo", plan))
            rows = added(arguments, plan, x, servers)
    report(arguments, rounds, rows)
    return 0


@contextlib.contextmanager
def started(arguments, option, plan):
    """(address, process) of a server of this program's."""
    three = ports()
    address = f"127.0.0.1:{three[arguments.protocol == 'grpc']}"
    server = subprocess.Popen([sys.executable, __file__, arguments.model, "--contexts", str(arguments.contexts), "--threads",
                               str(arguments.threads), option, plan, *map(str, three)], stdout=subprocess.DEVNULL)
    try:
        wait_for(arguments.protocol, address)
        yield address, server.pid
    finally:
        server.terminate()
        try:
            server.wait(20)
        except subprocess.TimeoutExpired:  # MLServer alone loses a signal now and then
            server.kill()
            server.wait()


def report(arguments, rounds, rows):
    print(f"{arguments.model}, {arguments.protocol}, {arguments.clients} clients, {arguments.contexts} contexts of {arguments.threads} threads")
    print("| model | requests/s | spread | p50 ms | p99 ms |\n|-|-|-|-|-|")
    for name, of in rounds.items():
        rates = [rate for rate, _, _ in of]
        print(f"| {name} | {max(rates):.0f} | {min(rates):.0f}..{max(rates):.0f} | {min(p50 for _, p50, _ in of):.2f} | "
              f"{min(p99 for _, _, p99 in of):.2f} |")
    print("\n| one client, ms | clock, median | 5th percentile | processor, median | 5th percentile |\n|-|-|-|-|-|")
    for title in rows["clock"]:
        values = [value for kind in ("clock", "processor") for value in rows[kind][title]]
        print(f"| {title} | " + " | ".join(f"{value:.3f}" for value in values) + " |")


if __name__ == "__main__":
    sys.exit(main())
