# SPDX-License-Identifier: Apache-2.0
"""The exceptions, and the classes that onnxruntime has in its extension."""

from .._errors import (DeviceReset, EngineError, EPFail, Fail, InvalidArgument, InvalidGraph, InvalidProtobuf, ModelLoadCanceled,
                       ModelLoaded, ModelRequiresCompilation, NoModel, NoSuchFile, NotFound, NotImplemented, RuntimeException)
from .._functions import (disable_telemetry_events, enable_telemetry_events, get_build_info, get_version_string,
                          set_default_logger_severity, set_default_logger_verbosity, set_seed)
from .._options import ExecutionMode, ExecutionOrder, GraphOptimizationLevel, RunOptions, SessionOptions
from .._providers import get_all_providers, get_available_providers, get_device
from .._session import InferenceSession
from .._types import ModelMetadata, NodeArg
from .._values import IOBinding as SessionIOBinding
from .._values import OrtDevice, OrtValue, OrtValueVector, SparseTensor
