# SPDX-License-Identifier: Apache-2.0
"""ONNX's backend interface (onnx.backend.base) on Tenon; needs the package onnx.

    import tenon.backend
    outputs = tenon.backend.prepare(onnx.load("model.onnx")).run([array])

The onnx package's own tests run on it: onnx.backend.test.BackendTest(tenon.backend, __name__).
"""

import numpy as np
import onnx
from onnx import helper
from onnx.backend.base import Backend, BackendRep, Device, DeviceType, namedtupledict

import tenon
from tenon._network import Network

_KINDS = {DeviceType.CPU: "cpu", DeviceType.CUDA: "cuda"}


def _device_name(device):
    """'cpu' of 'CPU', 'cuda:1' of 'CUDA:1'."""
    parsed = Device(device)
    kind = _KINDS[parsed.type]
    return kind if kind == "cpu" else f"{kind}:{parsed.device_id}"


class TenonBackendRep(BackendRep):
    """A model that is prepared; tenon.Network is its `network`."""

    def __init__(self, network):
        super().__init__()
        self.network = network
        self._names = [port.name for port in network.outputs]

    def run(self, inputs, **kwargs):
        """Runs once: outputs by position and by name, of inputs in the order of the model, a dict, or a single array."""
        if isinstance(inputs, np.ndarray):
            inputs = (inputs,)
        results = self.network.run_named(inputs if isinstance(inputs, dict) else tuple(inputs))
        return namedtupledict("Outputs", self._names)(*(results[name] for name in self._names))


class TenonBackend(Backend):
    """prepare, run_model, run_node and supports_device, as onnx.backend.base has them."""

    @classmethod
    def is_compatible(cls, model, device="CPU", **kwargs):
        """Whether prepare would take the model."""
        try:
            cls.prepare(model, device, **kwargs)
        except tenon.Error:
            return False
        return True

    @classmethod
    def supports_device(cls, device):
        """Whether there is such a device: 'CPU', 'CUDA', 'CUDA:1'."""
        try:
            tenon.default_runtime().find_device(_device_name(device))
        except (AttributeError, KeyError, ValueError, tenon.Error):
            return False
        return True

    @classmethod
    def prepare(cls, model, device="CPU", **kwargs):
        """Builds a model (an onnx.ModelProto). `kwargs` are options of tenon.build; kernels are chosen by rule unless timing=True."""
        name = _device_name(device)
        options = {"timing": False, "packed_weights": False, **kwargs}
        plan = tenon.build(model, device=name, **options)
        return TenonBackendRep(Network(plan, plan.engine(device=name, threads=options.get("threads", 0))))

    @classmethod
    def run_model(cls, model, inputs, device="CPU", **kwargs):
        return cls.prepare(model, device, **kwargs).run(inputs)

    @classmethod
    def run_node(cls, node, inputs, device="CPU", outputs_info=None, **kwargs):
        """Runs one node (an onnx.NodeProto). `outputs_info`: (dtype, shape) of each output; without it they are inferred.
        `opset_version` (the newest) says which version of the operator it is."""
        opset = kwargs.pop("opset_version", onnx.defs.onnx_opset_version())
        return cls.run_model(_model_of(node, inputs, outputs_info, opset), inputs, device, **kwargs)


def _model_of(node, inputs, outputs_info, opset):
    names = [name for name in node.input if name]
    if len(names) != len(inputs):
        raise ValueError(f"{len(inputs)} inputs came for a node with {len(names)}: {', '.join(names)}")
    given = [_declared(name, np.asarray(array).dtype, np.asarray(array).shape) for name, array in zip(names, inputs)]
    outputs = [name for name in node.output if name]
    if outputs_info is not None:
        wanted = [_declared(name, dtype, shape) for name, (dtype, shape) in zip(outputs, outputs_info)]
    else:
        wanted = [onnx.ValueInfoProto(name=name) for name in outputs]
    imports = [helper.make_opsetid(domain, version) for domain, version in {"": opset, node.domain: opset if not node.domain else 1}.items()]
    return helper.make_model(helper.make_graph([node], "node", given, wanted), opset_imports=imports)


def _declared(name, dtype, shape):
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), shape)


is_compatible = TenonBackend.is_compatible
prepare = TenonBackend.prepare
run_node = TenonBackend.run_node
run_model = TenonBackend.run_model
supports_device = TenonBackend.supports_device
