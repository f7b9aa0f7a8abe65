# SPDX-License-Identifier: Apache-2.0
"""The classes that onnxruntime writes in Python."""

from .._session import InferenceSession
from .._values import IOBinding, OrtDevice, OrtValue, SparseTensor

Session = InferenceSession
