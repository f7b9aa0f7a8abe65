# SPDX-License-Identifier: Apache-2.0
"""OrtValue: a value in the processor's memory, and IOBinding: values that a session reads from and writes into."""

import ctypes

import numpy as np

from . import _errors
from ._types import dtype_of, number_of, tenon_name_of, type_string

_DEVICES = {"cpu": 0, "cuda": 1}


class OrtDevice:
    """A device by its name and index; values lie on "cpu"."""

    def __init__(self, device_type="cpu", device_id=0):
        self._device = (device_type, device_id)

    @staticmethod
    def make(ort_device_name, device_id, vendor_id=-1):
        if ort_device_name not in _DEVICES:
            raise ValueError(f"device '{ort_device_name}': {' or '.join(_DEVICES)} is wanted")
        return OrtDevice(ort_device_name, device_id)

    def device_type(self):
        return _DEVICES[self._device[0]]

    def device_id(self):
        return self._device[1]

    def device_mem_type(self):
        return 0

    def device_vendor_id(self):
        return 0


def _need_cpu(device_type):
    if isinstance(device_type, OrtDevice):
        device_type = device_type._device[0]
    if device_type != "cpu":
        raise _errors.RuntimeException(f"device '{device_type}': values of sessions lie in the processor's memory ('cpu'), from where a "
                                       "session on a device copies them; tenon.Context takes DLPack tensors of the device itself")


def _in_memory(address, shape, dtype):
    """An array over memory that the caller keeps."""
    count = int(np.prod(shape, dtype=np.int64))
    if not count:
        return np.empty(shape, dtype)
    if not address:
        raise ValueError(f"buffer_ptr is null for {count * dtype.itemsize} bytes")
    memory = (ctypes.c_char * (count * dtype.itemsize)).from_address(address)
    return np.frombuffer(memory, dtype=dtype, count=count).reshape(shape)


class OrtValue:
    """A tensor, or a sequence of them. It shares the memory of the array that it was made of."""

    def __init__(self, value, element_type=None):
        self._value = value
        self._element_type = element_type

    @classmethod
    def ortvalue_from_numpy(cls, numpy_obj, device_type="cpu", device_id=0, vendor_id=-1):
        """Of an array, whose memory is shared where it is contiguous."""
        _need_cpu(device_type)
        array = np.asarray(numpy_obj)
        return cls(np.ascontiguousarray(array).reshape(array.shape), number_of(array.dtype))

    @classmethod
    def ortvalue_from_numpy_with_onnx_type(cls, data, onnx_element_type):
        """Of an array whose elements are taken for those of another type of as many bytes (float16's bytes in uint16)."""
        dtype = dtype_of(onnx_element_type)
        if dtype.itemsize != data.dtype.itemsize:
            raise ValueError(f"elements of {data.dtype.name} are {data.dtype.itemsize} bytes, of {dtype.name} {dtype.itemsize}")
        return cls(np.ascontiguousarray(data).view(dtype), int(onnx_element_type))

    @classmethod
    def ortvalue_from_shape_and_type(cls, shape, element_type, device_type="cpu", device_id=0, vendor_id=-1):
        """Memory for a tensor, without contents."""
        _need_cpu(device_type)
        dtype = dtype_of(element_type)
        return cls(np.empty(tuple(shape), dtype), number_of(dtype))

    @classmethod
    def from_dlpack(cls, tensor, is_bool_tensor=False):
        """Of any DLPack tensor in the processor's memory, without a copy."""
        array = np.from_dlpack(tensor)
        return cls.ortvalue_from_numpy(array.view(np.bool_) if is_bool_tensor else array)

    @staticmethod
    def ort_value_from_sparse_tensor(sparse_tensor):
        raise _errors.NotImplemented("sparse tensors are not supported: a dense one is wanted")

    def as_sparse_tensor(self):
        raise _errors.NotImplemented("this value is dense")

    def __dlpack__(self, **arguments):
        return self._array().__dlpack__(**arguments)

    def __dlpack_device__(self):
        return (1, 0)

    def _array(self):
        if not self.is_tensor():
            raise RuntimeError("this value is a sequence, not a tensor")
        return self._value

    def numpy(self):
        """The array, which is not copied; of a sequence the list of its arrays."""
        return self._value

    def shape(self):
        return list(self._array().shape)

    def element_type(self):
        return self._element_type if self._element_type is not None else number_of(self._array().dtype)

    def data_type(self):
        if self.is_tensor():
            return type_string(tenon_name_of(self._value.dtype))
        return f"seq({type_string(tenon_name_of(self._value[0].dtype)) if self._value else 'tensor(float)'})"

    def device_name(self):
        return "cpu"

    def data_ptr(self):
        return self._array().ctypes.data

    def tensor_size_in_bytes(self):
        return self._array().nbytes

    def has_value(self):
        return self._value is not None

    def is_tensor(self):
        return isinstance(self._value, np.ndarray)

    def is_tensor_sequence(self):
        return isinstance(self._value, list)

    def is_sparse_tensor(self):
        return False

    def update_inplace(self, np_arr):
        """Copies an array of the same shape and type into the value."""
        array = self._array()
        if np_arr.shape != array.shape or np_arr.dtype != array.dtype:
            raise ValueError(f"the value is {array.dtype.name} {list(array.shape)}, the array {np_arr.dtype.name} {list(np_arr.shape)}")
        np.copyto(array, np_arr)


class OrtValueVector(list):
    """A list of OrtValue."""

    def push_back(self, value):
        self.append(value)


class IOBinding:
    """Inputs and outputs by name, kept from one run_with_iobinding to the next. Made by InferenceSession.io_binding()."""

    def __init__(self, session):
        self._session = session
        self._inputs = {}
        self._outputs = {}  # name: the array that it is written into; None: one of the session's own
        self._results = []

    def _known(self, name, ports):
        if name not in [port.name for port in ports]:
            raise RuntimeError(f"'{name}': the model has {', '.join(port.name for port in ports)}")
        return name

    def _bind(self, name, value):
        self._inputs[self._known(name, self._session.get_inputs())] = value

    def bind_cpu_input(self, name, arr_on_cpu):
        """An array, read at each run."""
        self._bind(name, np.asarray(arr_on_cpu))

    def bind_input(self, name, device_type, device_id, element_type, shape, buffer_ptr):
        """Memory by its address, which the caller keeps."""
        _need_cpu(device_type)
        self._bind(name, _in_memory(buffer_ptr, tuple(shape), dtype_of(element_type)))

    def bind_ortvalue_input(self, name, ortvalue):
        """A value, read at each run."""
        self._bind(name, ortvalue.numpy())

    def bind_output(self, name, device_type="cpu", device_id=0, element_type=None, shape=None, buffer_ptr=None):
        """An output, into memory by its address where `buffer_ptr`, `shape` and `element_type` say so."""
        _need_cpu(device_type)
        self._known(name, self._session.get_outputs())
        if buffer_ptr is None:
            self._outputs[name] = None
            return
        if element_type is None or shape is None:
            raise ValueError(f"output '{name}': `element_type` and `shape` are wanted with `buffer_ptr`")
        self._outputs[name] = _in_memory(buffer_ptr, tuple(shape), dtype_of(element_type))

    def bind_ortvalue_output(self, name, ortvalue):
        """An output, into a value's memory."""
        self._outputs[self._known(name, self._session.get_outputs())] = ortvalue.numpy()

    def synchronize_inputs(self):
        """Nothing: inputs are there when they are bound."""

    def synchronize_outputs(self):
        """Nothing: outputs are there when the run is over."""

    def get_outputs(self):
        """The outputs of the last run, in the order of binding."""
        return [OrtValue(value) for value in self._results]

    def get_outputs_as_ortvaluevector(self):
        return OrtValueVector(self.get_outputs())

    def copy_outputs_to_cpu(self):
        """The same as arrays."""
        return list(self._results)

    def clear_binding_inputs(self):
        self._inputs.clear()

    def clear_binding_outputs(self):
        self._outputs.clear()
        self._results = []

    def _run(self, run_options):
        if not self._outputs:
            raise RuntimeError("no output is bound: bind_output(name) binds one")
        results = self._session.run(list(self._outputs), self._inputs, run_options)
        for index, (name, memory) in enumerate(self._outputs.items()):
            if memory is not None:
                results[index] = _copied(name, results[index], memory)
        self._results = results


def _copied(name, value, memory):
    if value.shape != memory.shape or value.dtype != memory.dtype:
        raise _errors.InvalidArgument(f"output '{name}' is {value.dtype.name} {list(value.shape)}, the memory bound to it is for "
                                      f"{memory.dtype.name} {list(memory.shape)}")
    np.copyto(memory, value)
    return memory


class SparseTensor:
    """Refused: Tenon's tensors are dense."""

    def __init__(self, *_):
        raise _errors.NotImplemented("sparse tensors are not supported: a dense one is wanted")

    sparse_coo_from_numpy = sparse_csr_from_numpy = classmethod(lambda cls, *_: cls())
