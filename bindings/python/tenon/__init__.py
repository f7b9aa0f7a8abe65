# SPDX-License-Identifier: Apache-2.0
"""Tenon: an inference engine in which every layer is a plugin.

    import tenon
    net = tenon.load("model.onnx", shapes={"x": [(1, 3, 64, 64), (1, 3, 256, 256), (1, 3, 512, 512)]})
    y = net(x)                # NumPy arrays, or anything with the buffer protocol or DLPack
    net.save("model.plan")

load() builds a model, or loads a plan, and answers a Network that is called like a function. build() makes a Plan, Plan.engine() an
Engine, Engine.context() a Context, which are the objects of the C interface. Errors are tenon.Error.

Layers of your own: Plugin (from source text in C), elementwise (an expression), operator (a function on NumPy arrays). Graph is a
network that is built node by node.
"""

from tenon._engine import Calibration, Context, Engine, Error, Plan, Port, Runtime
from tenon._engine import version as _version
from tenon._build import build, calibrate
from tenon._files import get_include, get_library_dir, program
from tenon._network import Network, load
from tenon._runtime import default_runtime

__version__ = _version()
# What authors of layers use is imported when it is first asked for.
_LATER = {"Plugin": "_plugin", "Field": "_fields", "Graph": "_graph", "Tensor": "_graph", "elementwise": "_elementwise",
          "operator": "_operator", "CheckFailed": "_findings"}
__all__ = ["Calibration", "CheckFailed", "Context", "Engine", "Error", "Field", "Graph", "Network", "Plan", "Plugin", "Port", "Runtime",
           "Tensor", "build", "calibrate", "default_runtime", "elementwise", "get_include", "get_library_dir", "load", "operator", "program"]


def __getattr__(name):
    if name not in _LATER:
        raise AttributeError(f"module 'tenon' has no attribute {name!r}")
    import importlib
    value = getattr(importlib.import_module(f"tenon.{_LATER[name]}"), name)
    globals()[name] = value
    return value


def __dir__():
    return sorted({*globals(), *__all__})
