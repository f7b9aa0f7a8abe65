# SPDX-License-Identifier: Apache-2.0
"""The same as onnxruntime_pybind11_state, by the name that it is imported under elsewhere."""

from .onnxruntime_pybind11_state import *  # noqa: F403
