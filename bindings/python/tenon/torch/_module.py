# SPDX-License-Identifier: Apache-2.0
"""tenon.torch.Module: a torch module that runs a plan, or several with PyTorch between them."""

import io

import numpy as np
import torch
from torch.utils import _pytree as pytree

from tenon import _engine, _network


class _Engine:
    """A part that runs on Tenon."""

    def __init__(self, plan, plugins, device):
        self.network = _network.load(plan, plugins, device=device)
        self.types = [port.type for port in self.network.outputs]
        self.names = [port.name for port in self.network.outputs]

    def __call__(self, names, tensors):
        # What PyTorch hands on may have gaps; a device takes none.
        found = self.network.run_named({name: tensor.contiguous() for name, tensor in zip(names, tensors)})
        return [_tensor(found[name], type) for name, type in zip(self.names, self.types)]

    def state(self):
        return {"plan": _bytes(self.network.plan.tobytes())}


class _Program:
    """A part that runs in PyTorch."""

    def __init__(self, data):
        self.data = data
        self.module = torch.export.load(io.BytesIO(data)).module()

    def __call__(self, names, tensors):
        with torch.no_grad():
            return self.module(*tensors)

    def state(self):
        return {"program": _bytes(self.data)}


class Module(torch.nn.Module):
    """A torch.nn.Module that runs a network of Tenon on torch tensors, without copies: on the processor, or on a GPU's current stream for
    a plan that was built for it (`device`: "cpu", "cuda:1"; None: as it was built). Its state dict holds the plan:

        torch.save(module.state_dict(), "net.pt")
        module = tenon.torch.Module(plugins=[...])
        module.load_state_dict(torch.load("net.pt"))

    It has no gradients. `network` is the tenon.Network, `plan` its plan. A module that was converted with fallback="torch" may have
    several: `networks`; `in_pytorch` lists what runs in PyTorch between them, as (name, where). Its state dict has programs of
    torch.export, too, which are loaded only by Module(programs=True): loading one may run what its author put into it."""

    def __init__(self, plan=None, out_spec=None, plugins=(), *, programs=False, device=None):
        super().__init__()
        self._device = device
        self._plugins = plugins
        self._programs = programs
        self._out_spec = out_spec
        self._parts, self._names, self._outputs, self._constants = [], [], [], {}
        self.in_pytorch = []
        if plan is not None:
            self._set_plan(plan)

    def _set_plan(self, plan):
        part = _Engine(plan, self._plugins, self._device)
        self._names, self._outputs = [port.name for port in part.network.inputs], part.names
        self._parts = [(part, self._names, self._outputs)]

    def _set_parts(self, names, outputs, parts, constants=None):
        """parts: (plan, or the bytes of a program; names of inputs; names of outputs) in the order of a run."""
        self._parts = [(_Engine(what, self._plugins, self._device) if isinstance(what, _engine.Plan) else _Program(what), reads, makes)
                       for what, reads, makes in parts]
        self._names, self._outputs, self._constants = names, outputs, constants or {}

    @property
    def networks(self):
        """The tenon.Network of each part that runs on Tenon."""
        return [part.network for part, _, _ in self._parts if isinstance(part, _Engine)]

    @property
    def network(self):
        """The tenon.Network; None where there is no plan yet."""
        if len(self._parts) > 1:
            raise ValueError(f"this module has {len(self.networks)} networks, with PyTorch between them: see networks")
        return self.networks[0] if self.networks else None

    @property
    def plan(self):
        return self.network.plan

    def forward(self, *inputs, **named):
        """Runs the network on tensors, in the order of the module that it was made of, or by the names of forward's parameters."""
        if not self._parts:
            raise RuntimeError("this tenon.torch.Module has no plan yet: load_state_dict() gives it one")
        tensors, _ = pytree.tree_flatten((inputs, named))
        if named:
            positions = dict(zip(self._names, inputs)) | named
            tensors = [positions[name] for name in self._names] if set(positions) == set(self._names) else tensors
        if len(tensors) != len(self._names):
            raise TypeError(f"{len(tensors)} inputs came: expected {', '.join(self._names)}")
        values = {**self._constants, **{name: tensor.detach() if isinstance(tensor, torch.Tensor) else tensor
                                        for name, tensor in zip(self._names, tensors)}}
        for part, reads, makes in self._parts:
            values.update(zip(makes, part(reads, [values[name] for name in reads])))
        results = [values[name] for name in self._outputs]
        if self._out_spec is None:
            return results[0] if len(results) == 1 else tuple(results)
        return pytree.tree_unflatten(results, self._out_spec)

    def get_extra_state(self):
        if not self._parts:
            return {}
        return {"inputs": self._names, "outputs": self._outputs, "constants": self._constants, "in_pytorch": [list(each) for each in self.in_pytorch],
                "structure": "" if self._out_spec is None else pytree.treespec_dumps(self._out_spec),
                "parts": [{**part.state(), "reads": reads, "makes": makes} for part, reads, makes in self._parts]}

    def set_extra_state(self, state):
        if not state:
            return
        if not self._programs and any("program" in part for part in state["parts"]):
            raise RuntimeError("the state dict has programs of torch.export, which may run code of whoever wrote them: "
                               "tenon.torch.Module(programs=True) loads them")
        parts = [(_engine.Plan(_of_bytes(part["plan"])) if "plan" in part else _of_bytes(part["program"]), part["reads"], part["makes"])
                 for part in state["parts"]]
        self._set_parts(state["inputs"], state["outputs"], parts, state["constants"])
        self._out_spec = pytree.treespec_loads(state["structure"]) if state["structure"] else None
        self.in_pytorch = [tuple(each) for each in state["in_pytorch"]]

    def extra_repr(self):
        return "\n".join(map(repr, self.networks))


def _bytes(data):
    return torch.frombuffer(bytearray(data), dtype=torch.uint8)


def _of_bytes(tensor):
    return tensor.numpy().tobytes()


def _tensor(array, type):
    if isinstance(array, torch.Tensor):
        return array
    if type == "bf16":  # which NumPy has not by itself
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array if array.ndim else np.asarray(array).reshape(()))
