# SPDX-License-Identifier: Apache-2.0
"""Execution providers by onnxruntime's names. Tenon has two: the processor, and CUDA's device where it is."""

import warnings

import tenon

ALL = ["TensorrtExecutionProvider", "CUDAExecutionProvider", "ROCMExecutionProvider", "OpenVINOExecutionProvider",
       "DnnlExecutionProvider", "XnnpackExecutionProvider", "CoreMLExecutionProvider", "DmlExecutionProvider",
       "AzureExecutionProvider", "CPUExecutionProvider"]
CPU, CUDA = "CPUExecutionProvider", "CUDAExecutionProvider"


def _has_cuda():
    return any(device["kind"] == "cuda" for device in tenon.default_runtime().devices)


def get_available_providers():
    """The providers that there are on this machine, in the order in which a session prefers them."""
    return [CUDA, CPU] if _has_cuda() else [CPU]


def get_all_providers():
    """The names that onnxruntime's providers have; get_available_providers has those that are here."""
    return list(ALL)


def get_device():
    """'GPU' where there is a device, else 'CPU'."""
    return "GPU" if _has_cuda() else "CPU"


def _named(provider):
    """(name, options) of a name or such a pair."""
    if isinstance(provider, str):
        return provider, {}
    if isinstance(provider, tuple) and len(provider) == 2 and isinstance(provider[0], str) and hasattr(provider[1], "items"):
        return provider[0], dict(provider[1])
    raise ValueError(f"providers: a provider's name, or (name, dict of options), is wanted, not {provider!r}")


def read_providers(providers, provider_options):
    """A list of (name, options) of those that are here; others are warned of."""
    if isinstance(providers, str):
        raise ValueError(f"providers: a list of names is wanted, like ['{providers}'], not a text")
    available = get_available_providers()
    named = [_named(provider) for provider in (available if providers is None else providers)]
    if provider_options is not None:
        options = list(provider_options)
        if providers is None or len(options) != len(named):
            raise ValueError(f"provider_options: {len(options)} dicts came for {len(named) if providers is not None else 'no'} providers")
        if any(given for _, given in named):
            raise ValueError("provider_options: `providers` has options already")
        named = [(name, dict(given)) for (name, _), given in zip(named, options)]
    found = {}
    for name, options in named:
        if name not in available:
            warnings.warn(f"provider '{name}' is not here: available are {', '.join(available)}", stacklevel=5)
        elif name not in found:
            found[name] = options
    found.setdefault(CPU, {})
    return list(found.items())


def device_of(providers):
    """The device's name for tenon.build."""
    name, options = providers[0]
    if name == CUDA:
        return f"cuda:{int(options.get('device_id', 0))}"
    return "cpu"
