# SPDX-License-Identifier: Apache-2.0
"""Tenon: an inference engine in which every layer is a plugin.

    import tenon
    net = tenon.load("model.onnx", shapes={"x": [(1, 3, 64, 64), (1, 3, 256, 256), (1, 3, 512, 512)]})
    y = net(x)                # NumPy arrays, or anything with the buffer protocol or DLPack
    net.save("model.plan")

load() builds a model, or loads a plan, and answers a Network that is called like a function. build() makes a Plan, Plan.engine() an
Engine, Engine.context() a Context, which are the objects of the C interface. Errors are tenon.Error.
"""

from tenon._engine import Calibration, Context, Engine, Error, Graph, Plan, Port, Runtime
from tenon._engine import version as _version
from tenon._build import build, calibrate
from tenon._files import get_include, get_library_dir, program
from tenon._network import Network, load
from tenon._runtime import default_runtime

__version__ = _version()
__all__ = ["Calibration", "Context", "Engine", "Error", "Graph", "Network", "Plan", "Port", "Runtime", "build", "calibrate",
           "default_runtime", "get_include", "get_library_dir", "load", "program"]
