# SPDX-License-Identifier: Apache-2.0
"""onnxruntime's interface on Tenon: `import tenon.onnxruntime as ort`, and the rest of the program stays as it is.

    session = ort.InferenceSession("model.onnx")
    outputs = session.run(None, {"x": array})

`python -m tenon.onnxruntime program.py` runs a program whose own import says onnxruntime. What is the same and what differs is in
docs/python-onnxruntime.md.
"""

import importlib
import sys

from . import capi
from ._functions import (create_and_register_allocator, disable_telemetry_events, enable_telemetry_events, get_build_info,
                         get_ep_devices, get_version_string, has_collective_ops, preload_dlls, print_debug_info,
                         register_execution_provider_library, set_default_logger_severity, set_default_logger_verbosity,
                         set_global_thread_pool_sizes, set_seed, unregister_execution_provider_library)
from ._options import ExecutionMode, ExecutionOrder, GraphOptimizationLevel, RunOptions, SessionOptions
from ._providers import get_all_providers, get_available_providers, get_device
from ._session import InferenceSession
from ._types import ModelMetadata, NodeArg
from ._values import IOBinding, OrtDevice, OrtValue, SparseTensor
from ._functions import INTERFACE_VERSION as __version__

SessionIOBinding = IOBinding
package_name = "onnxruntime"
version = __version__
cuda_version = ""


def replace_onnxruntime():
    """From here on `import onnxruntime`, and its submodules, mean this module in this process. To be called before they are imported."""
    for name in ("_pybind_state", "onnxruntime_inference_collection", "onnxruntime_pybind11_state"):
        importlib.import_module(f"{__name__}.capi.{name}")
    for name in [name for name in sys.modules if name == "onnxruntime" or name.startswith("onnxruntime.")]:
        del sys.modules[name]
    for name, module in list(sys.modules.items()):
        if name == __name__ or name.startswith(f"{__name__}.capi"):
            sys.modules["onnxruntime" + name[len(__name__):]] = module


def __getattr__(name):
    raise AttributeError(f"tenon.onnxruntime has no '{name}': docs/python-onnxruntime.md lists what it has of onnxruntime")
