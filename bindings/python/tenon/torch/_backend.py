# SPDX-License-Identifier: Apache-2.0
"""torch.compile's backend "tenon"."""

import warnings

import torch
from torch import _dynamo

from tenon import _engine
from tenon.torch._convert import MissingConverters, convert


class _Frozen(torch.nn.Module):
    """The graph with some of its inputs, the parameters, fixed."""

    def __init__(self, graph, fixed):
        super().__init__()
        self.graph, self.fixed = graph, fixed
        for position, value in fixed.items():
            if isinstance(value, torch.Tensor):
                self.register_buffer(f"fixed_{position}", value.detach())

    def forward(self, *inputs):
        given = iter(inputs)
        count = len(inputs) + len(self.fixed)
        every = [getattr(self, f"fixed_{at}", self.fixed[at]) if at in self.fixed else next(given) for at in range(count)]
        return self.graph(*every)


class _Compiled:
    """Runs a graph on Tenon: a network for each set of shapes, built when they first come; made anew when a parameter has changed."""

    def __init__(self, graph, options):
        self.graph, self.options = graph, options
        self.networks = {}

    def __call__(self, *inputs):
        if torch.is_grad_enabled() and any(isinstance(each, torch.Tensor) and each.requires_grad for each in inputs):
            return self.graph(*inputs)
        fixed = {at: each for at, each in enumerate(inputs) if isinstance(each, torch.nn.Parameter) or not isinstance(each, torch.Tensor)}
        free = [each for at, each in enumerate(inputs) if at not in fixed]
        key = (tuple((each.shape, each.dtype) for each in free),
               tuple((id(each), each._version) if isinstance(each, torch.Tensor) else each for each in fixed.values()))
        if key not in self.networks:
            self.networks[key] = self._convert(fixed, free)
        network = self.networks[key]
        return self.graph(*inputs) if network is None else network(*free)

    def _convert(self, fixed, free):
        try:
            return convert(_Frozen(self.graph, fixed), tuple(each.detach().clone() for each in free), **self.options)
        except (MissingConverters, _engine.Error, TypeError, ValueError) as error:
            warnings.warn(f"this part of the model runs in PyTorch, not in Tenon: {error}", RuntimeWarning, stacklevel=3)
            return None


def backend(graph, example_inputs, *, options=None, **more):
    """torch.compile(module, backend="tenon"), or backend=tenon.torch.backend: runs on Tenon what needs no gradient. A part that has no
    converters runs in PyTorch, with a warning. options={...}: those of tenon.build."""
    return _Compiled(graph, {**(options or {}), **more})


def _add():
    if "tenon" not in _dynamo.list_backends(exclude_tags=()):
        _dynamo.register_backend(backend, name="tenon")


_add()
