# SPDX-License-Identifier: Apache-2.0
"""InferenceSession: a model that is built when the session is made, and run by names."""

import os
import threading
import time
import warnings

import numpy as np

import tenon
from tenon import _build, _plan
from tenon._network import Network
from tenon._runtime import load_plugins

from . import _errors
from ._networks import Networks
from ._options import GraphOptimizationLevel, RunOptions, SessionOptions
from ._profile import Profile
from ._providers import device_of, get_available_providers, read_providers
from ._types import ModelMetadata, NodeArg, type_string
from ._values import IOBinding, OrtValue, OrtValueVector


def _node(port):
    return NodeArg(port.name, type_string(port.type, port.kind, port.key_type), port.shape or [])


def _shaped(built, declared):
    """An output of a network, with the shape that the model declares where the build left it open."""
    if built.shape is not None:
        return built
    return type(built)((built.name, built.type, declared.shape, built.dtype, built.is_value), {"kind": built.kind, "key_type": built.key_type})


def _build_options(options, device):
    """What tenon.build gets of a session's options."""
    entries = options._entries
    seconds = entries.get("tenon.timing_seconds")
    try:
        seconds = float(seconds) if seconds is not None else 0.0
    except ValueError:
        raise _errors.InvalidArgument(f"tenon.timing_seconds: a number of seconds is wanted, not '{entries['tenon.timing_seconds']}'") from None
    return {"device": device, "threads": max(options.intra_op_num_threads, 0), "timing": seconds > 0, "timing_seconds": seconds,
            "packed_weights": False,  # the plan is loaded once, here
            "timing_cache": entries.get("tenon.timing_cache"), "precision": entries.get("tenon.precision", "fp32"),
            "fusion": options.graph_optimization_level != GraphOptimizationLevel.ORT_DISABLE_ALL}


class InferenceSession:
    """A model (a path or bytes; a plan, too), built for the processor or a device, and run by names of inputs and outputs."""

    def __init__(self, path_or_bytes, sess_options=None, providers=None, provider_options=None, **kwargs):
        if isinstance(path_or_bytes, (str, os.PathLike)):
            self._model_path = os.fspath(path_or_bytes)
        elif isinstance(path_or_bytes, (bytes, bytearray, memoryview)):
            self._model_path = None
        else:
            raise TypeError(f"a model is a path or its bytes, not {type(path_or_bytes).__name__}")
        if sess_options is not None and not isinstance(sess_options, SessionOptions):
            raise TypeError(f"sess_options: tenon.onnxruntime.SessionOptions is wanted, not {type(sess_options).__name__}")
        self._model = path_or_bytes if self._model_path is None else self._model_path
        self._sess_options = sess_options if sess_options is not None else SessionOptions()
        self._make(providers, provider_options)

    def _make(self, providers, provider_options):
        options = self._sess_options
        if providers is None and options.has_providers():
            providers = options._providers
        self._providers = read_providers(providers, provider_options)
        device = device_of(self._providers)
        self._profile = Profile(options.profile_file_prefix) if options.enable_profiling else None
        if options.optimized_model_filepath:
            warnings.warn("optimized_model_filepath: Tenon writes no ONNX model of what it built; tenon.build(model).save(path) writes a plan",
                          stacklevel=4)
        with _errors.at_creation():
            runtime = tenon.default_runtime()
            load_plugins(runtime, [name for name in options._entries.get("tenon.plugins", "").split(os.pathsep) if name])
            if _plan.is_plan(self._model):
                self._load_plan(tenon.Plan(self._model, runtime), device)
            else:
                self._build_model(runtime, device)
        self._inputs = [_node(port) for port in self._ports[0]]
        self._outputs = [_node(port) for port in self._ports[1]]
        self._input_names = [port.name for port in self._inputs]
        self._output_names = [port.name for port in self._outputs]
        self._known_inputs = frozenset(self._input_names)
        self._known_outputs = frozenset(self._output_names)

    def _load_plan(self, plan, device):
        network = Network(plan, plan.engine(threads=max(self._sess_options.intra_op_num_threads, 0), device=device))
        self._networks = None
        self._network = network
        self._ports = (network.inputs, network.outputs)
        self._info = network.engine.model_info

    def _build_model(self, runtime, device):
        build = _build_options(self._sess_options, device)
        graph = _build.graph_of(self._model, runtime)
        shapes = self._overridden(graph.inputs)
        self._networks = Networks(graph.inputs, lambda three, values: tenon.build(graph, shapes=three or shapes, values=values, **build),
                                  lambda plan: plan.engine(threads=build["threads"], device=device))
        self._network = self._networks.first
        built = self._network.outputs if self._network else graph.outputs
        self._ports = (graph.inputs, [_shaped(*ports) for ports in zip(built, graph.outputs)])
        self._info = graph.model_info

    def _overridden(self, ports):
        """Shapes of the inputs all of whose extents are known, by numbers and overrides; None: no override is used."""
        overrides = self._sess_options._overrides
        names = {extent for port in ports for extent in port.shape or () if isinstance(extent, str)}
        for name in overrides.keys() - names:
            warnings.warn(f"add_free_dimension_override_by_name: no extent of an input is called '{name}'; there are "
                          f"{', '.join(sorted(names)) or 'none'}", stacklevel=6)
        fixed = {}
        for port in ports:
            shape = tuple(overrides.get(extent, extent) for extent in port.shape or ())
            if any(extent in overrides for extent in port.shape or ()) and all(isinstance(extent, int) for extent in shape):
                fixed[port.name] = shape
        return fixed or None

    # --- what it is ---

    def get_inputs(self):
        """The inputs: a list of NodeArg."""
        return list(self._inputs)

    def get_outputs(self):
        """The outputs: a list of NodeArg."""
        return list(self._outputs)

    def get_overridable_initializers(self):
        """None: initializers are constants of what was built."""
        return []

    def get_modelmeta(self):
        """What the model's file says of itself: a ModelMetadata."""
        return ModelMetadata(self._info)

    def get_session_options(self):
        return self._sess_options

    def get_providers(self):
        """The names of the providers in use."""
        return [name for name, _ in self._providers]

    def get_provider_options(self):
        """A dict of their options."""
        return {name: {key: str(value) for key, value in options.items()} for name, options in self._providers}

    def set_providers(self, providers=None, provider_options=None):
        """Builds the model again for other providers."""
        self._make(providers, provider_options)

    def disable_fallback(self):
        """Nothing: an error of a provider is raised, never hidden by another one."""

    def enable_fallback(self):
        """Nothing, as disable_fallback."""

    def get_tuning_results(self):
        return []

    def set_tuning_results(self, results, *, error_on_invalid=False):
        """Nothing: times of kernels are kept by the entry "tenon.timing_cache"."""

    def set_ep_dynamic_options(self, options):
        """Nothing: no option changes once a session is built."""

    def get_profiling_start_time_ns(self):
        return self._profile.start_ns if self._profile else 0

    def end_profiling(self):
        """Writes what enable_profiling gathered, one event a run, and answers the file's name; '' without profiling."""
        profile, self._profile = self._profile, None
        return profile.write() if profile else ""

    # --- runs ---

    def run(self, output_names, input_feed, run_options=None):
        """Runs once: the list of the outputs named (None: all), of a dict from inputs' names to arrays or nested lists."""
        if run_options is not None and run_options.terminate:
            raise _errors.Fail("the run was not begun: RunOptions.terminate is set")
        names = self._wanted(output_names)
        feed = input_feed if input_feed.keys() == self._known_inputs else self._refuse(input_feed)
        for value in feed.values():
            if type(value) is not np.ndarray:
                feed = self._as_arrays(feed)
                break
        begin = time.perf_counter_ns() if self._profile else 0
        with _errors.at_run():
            network = self._network if self._networks is None else self._networks.find(feed)
            results = network.run_named(feed)
        if begin:
            self._profile.add(begin, time.perf_counter_ns(), feed)
        return [results[name] for name in names]

    def _wanted(self, output_names):
        if not output_names:
            return self._output_names
        if isinstance(output_names, str):
            raise TypeError(f"output_names: a list of names is wanted, like ['{output_names}'], not a text")
        for name in output_names:
            if name not in self._known_outputs:
                raise _errors.InvalidArgument(f"no output is called '{name}': the model has {', '.join(self._output_names)}")
        return output_names

    def _refuse(self, feed):
        missing = [name for name in self._input_names if name not in feed]
        if missing:
            raise ValueError(f"inputs {', '.join(missing)} are missing: the model has {', '.join(self._input_names)}")
        unknown = next(name for name in feed if name not in self._known_inputs)
        raise _errors.InvalidArgument(f"no input is called '{unknown}': the model has {', '.join(self._input_names)}")

    def _as_arrays(self, feed):
        """Values and nested lists as arrays; lists take the input's type, arrays keep theirs."""
        arrays = {}
        for port in self._ports[0]:
            value = feed[port.name]
            value = value.numpy() if isinstance(value, OrtValue) else value
            if isinstance(value, np.ndarray) or port.kind != "tensor":
                arrays[port.name] = value
                continue
            if value is None:
                raise _errors.InvalidArgument(f"input '{port.name}': None came, an array is wanted")
            try:
                arrays[port.name] = np.asarray(value) if hasattr(value, "__array__") else np.asarray(value, dtype=port.dtype)
            except (TypeError, ValueError, OverflowError) as error:
                raise _errors.InvalidArgument(f"input '{port.name}': {type(value).__name__} is no array of {port.dtype}: {error}") from error
        return arrays

    def run_with_iobinding(self, iobinding, run_options=None):
        """Runs with what is bound; the results are the binding's."""
        iobinding._run(run_options)

    def run_with_ort_values(self, output_names, input_dict_ort_values, run_options=None):
        """As run, with OrtValue as inputs and outputs."""
        return [OrtValue(value) for value in self.run(output_names, input_dict_ort_values, run_options)]

    def run_with_ortvaluevector(self, run_options, feed_names, feeds, fetch_names, fetches, fetch_devices):
        """As run_with_ort_values, with lists; `fetches` gets the results."""
        fetches[:] = OrtValueVector(self.run_with_ort_values(fetch_names, dict(zip(feed_names, feeds)), run_options))

    def run_async(self, output_names, input_feed, callback, user_data, run_options=None):
        """Runs on a thread of its own, which then calls callback(results, user_data, error): the error's text, '' without one."""
        def run():
            try:
                results, error = self.run(output_names, input_feed, run_options), ""
            except Exception as raised:  # noqa: BLE001: the callback is told
                results, error = [], str(raised)
            callback(results, user_data, error)
        threading.Thread(target=run, name="tenon.onnxruntime.run_async", daemon=False).start()

    def io_binding(self):
        """An IOBinding of this session."""
        return IOBinding(self)


__all__ = ["InferenceSession", "RunOptions", "get_available_providers"]
