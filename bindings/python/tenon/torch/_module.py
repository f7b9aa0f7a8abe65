# SPDX-License-Identifier: Apache-2.0
"""tenon.torch.Module: a torch module that runs a plan."""

import numpy as np
import torch
from torch.utils import _pytree as pytree

from tenon import _engine, _network


class Module(torch.nn.Module):
    """A torch.nn.Module that runs a network of Tenon on torch tensors, without copies on the processor. Its state dict holds the plan:

        torch.save(module.state_dict(), "net.pt")
        module = tenon.torch.Module(plugins=[...])
        module.load_state_dict(torch.load("net.pt"))

    It has no gradients. `network` is the tenon.Network, `plan` its plan."""

    def __init__(self, plan=None, out_spec=None, plugins=()):
        super().__init__()
        self._plugins = plugins
        self._out_spec = out_spec
        self.network = None
        if plan is not None:
            self._set(plan)

    def _set(self, plan):
        self.network = _network.load(plan, self._plugins)
        self._names = [port.name for port in self.network.inputs]
        self._outputs = [port.name for port in self.network.outputs]

    @property
    def plan(self):
        return self.network.plan

    def forward(self, *inputs, **named):
        """Runs the network on tensors, in the order of the module that it was made of, or by the names of forward's parameters."""
        if self.network is None:
            raise RuntimeError("this tenon.torch.Module has no plan yet: load_state_dict() gives it one")
        tensors, _ = pytree.tree_flatten((inputs, named))
        if named:
            positions = dict(zip(self._names, inputs)) | named
            tensors = [positions[name] for name in self._names] if set(positions) == set(self._names) else tensors
        if len(tensors) != len(self._names):
            raise TypeError(f"{len(tensors)} inputs came: expected {', '.join(self._names)}")
        arrays = {name: tensor.detach() if isinstance(tensor, torch.Tensor) else tensor for name, tensor in zip(self._names, tensors)}
        found = self.network.run(arrays)
        results = [_tensor(found)] if len(self._outputs) == 1 else [_tensor(found[name]) for name in self._outputs]
        if self._out_spec is None:
            return results[0] if len(results) == 1 else tuple(results)
        return pytree.tree_unflatten(results, self._out_spec)

    def get_extra_state(self):
        if self.network is None:
            return {}
        plan = torch.frombuffer(bytearray(self.plan.tobytes()), dtype=torch.uint8)
        return {"plan": plan, "outputs": "" if self._out_spec is None else pytree.treespec_dumps(self._out_spec)}

    def set_extra_state(self, state):
        if not state:
            return
        self._out_spec = pytree.treespec_loads(state["outputs"]) if state["outputs"] else None
        self._set(_engine.Plan(state["plan"].numpy().tobytes()))

    def extra_repr(self):
        return "" if self.network is None else repr(self.network)


def _tensor(array):
    if isinstance(array, torch.Tensor):
        return array
    return torch.from_numpy(array if array.ndim else np.asarray(array).reshape(()))
