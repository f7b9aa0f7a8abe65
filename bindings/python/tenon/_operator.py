# SPDX-License-Identifier: Apache-2.0
"""@tenon.operator: an operator whose reference, and perhaps shape rule, is a Python function on NumPy arrays."""

import contextlib
import inspect
import logging
import traceback
import warnings

import numpy as np

from . import _engine, _fields, _findings, _types
from ._plugin import Operator, Plugin


class _Functions:
    """What the extension calls, on any thread: the answer is a text, the reason, where it fails."""

    def __init__(self, operator):
        self.operator = operator

    def infer(self, inputs, fields, count):
        return self._guarded(self._infer, "shape rule", inputs, fields, count)

    def reference(self, inputs, outputs, fields):
        return self._guarded(self._reference, "function", inputs, outputs, fields)

    def _guarded(self, function, what, *arguments):
        try:
            return function(*arguments)
        except KeyboardInterrupt as error:  # the extension raises it again where the run has ended
            self.operator.exception = error
            raise
        except BaseException as error:  # SystemExit, too, would end nothing: the engine is between it and the caller
            self.operator.exception = error
            logging.getLogger("tenon").debug("%s: %s", self.operator.name, traceback.format_exc())
            return f"its Python {what} failed: {type(error).__name__}: {error}"
        finally:
            # The engine's memory: a traceback keeps these views longer than a run.
            for view in (each for argument in arguments if isinstance(argument, list) for each in argument):
                with contextlib.suppress(BufferError):
                    if view is not None and view[2] is not None:
                        view[2].release()

    def _infer(self, inputs, fields, count):
        shapes = self.operator.rule(*[None if each is None else _View(*each) for each in inputs], **fields)
        if count == 1 and not (isinstance(shapes, list) and shapes and isinstance(shapes[0], (list, tuple))):
            shapes = [shapes]
        if len(shapes) != count:
            raise ValueError(f"it answers {len(shapes)} shapes: expected {count}, a shape for each output")
        return [(0, [int(extent) for extent in shape]) for shape in shapes]  # 0: the type that the port's text says

    def _reference(self, inputs, outputs, fields):
        self.operator.warn()
        results = self.operator.function(*[None if each is None else _array(each) for each in inputs], **fields)
        ports = self.operator.outputs
        results = list(results) if len(ports) > 1 else [results]
        if len(results) != len(ports):
            raise ValueError(f"it answers {len(results)} arrays: expected {len(ports)}")
        for port, output, result in zip(ports, outputs, results):
            if output is None:
                continue
            type, extents, memory = output
            shape, result = tuple(extents), np.asarray(result)
            if result.shape != shape:
                raise ValueError(f"output '{port.name}' has shape {result.shape}, and its shape rule says {shape}")
            dtype = _types.DTYPES[_types.NAMES[type]]
            np.copyto(_types.as_array(type, shape, memory), result.astype(dtype, casting="same_kind", copy=False))


class PythonOperator(Operator):
    """An operator that runs as a Python function; made by @tenon.operator."""

    def __init__(self, function, name, inputs, outputs, fields, shape, cases, version, doc):
        self._declare(name, inputs, outputs, fields)
        self.function, self.rule, self.cases, self.version = function, shape, cases, version
        self.doc, self.shape = doc, shape
        self._loaded, self._is_warned, self.exception = [], False, None
        self.__doc__ = doc

    def load_into(self, runtime):
        if any(each is runtime for each in self._loaded):
            return
        description = self._rows() | {"library": f"python_{self.op}", "doc": self.doc or None, "since_version": self.version,
                                      "cases": [str(case) for case in self.cases]}
        _engine.add_operator(runtime, description, _Functions(self))
        self._loaded.append(runtime)

    def warn(self):
        if not self._is_warned:
            self._is_warned = True
            warnings.warn(f"{self.name} runs as a Python function: slow, and one thread at a time", RuntimeWarning, stacklevel=2)

    def check(self, *arrays, raises=True, **fields):
        """Runs the operator on these arrays and holds it against its function: shapes, types, whether it is the same each time and
        leaves its inputs as they are. Answers findings, as tenon.Plugin.check."""
        findings = _findings.Findings()
        copies = [None if array is None else np.array(array) for array in arrays]
        case = _findings.case_of(self, arrays, fields)

        def one(rule, why):
            findings.append(_findings.Finding("failed" if why else "passed", rule, case, "", why, "values" if why else ""))

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            try:
                declared = self.infer(*arrays, **fields)
                first = self(*arrays, **fields)
                second = self(*arrays, **fields)
            except _engine.Error as error:
                one("runs", str(error))
            else:
                first, second = (each if isinstance(each, list) else [each] for each in (first, second))
                one("runs", "")
                one("same-each-time", "" if all(map(_same, first, second)) else "two runs differ")
                one("shapes-are-the-rule's", "" if [(_types.OF_DTYPE[each.dtype], each.shape) for each in first] == declared else
                    f"{[each.shape for each in first]}, and the shape rule says {declared}")
        changed = [port.name for port, one_, two in zip(self.inputs, arrays, copies) if one_ is not None and not _same(np.asarray(one_), two)]
        one("inputs-stay", f"it writes to its input '{changed[0]}'" if changed else "")
        if raises and findings.failed:
            raise _findings.CheckFailed(findings)
        return findings


def _same(one, other):
    return one.shape == other.shape and np.array_equal(one, other, equal_nan=one.dtype.kind == "f")


class _View:
    """An input as a shape rule sees it: shape, dtype, ndim, and `value`, its elements, where they are known."""

    def __init__(self, type, extents, data):
        self.shape, self.ndim = tuple(extents), len(extents)
        self.dtype = np.dtype(_types.DTYPES.get(_types.NAMES.get(type), np.void))
        self.value = None if data is None else _array((type, extents, data))


def _array(view):
    """An input as the function gets it: a copy, for a function may keep it, and the engine's memory is another one's after the run."""
    type, extents, data = view
    if data is None:  # only its shape is read
        return np.broadcast_to(np.zeros((), _types.DTYPES[_types.NAMES[type]]), tuple(extents))
    array = _types.as_array(type, tuple(extents), data).copy()
    array.flags.writeable = False
    return array


def operator(name, *, outputs=("y",), inputs=None, shape=None, forward=None, cases=(), version=1, **options):
    """Makes an operator of a function on NumPy arrays:

        @tenon.operator("Mine::RunningSum", shape=lambda x, axis: x.shape)
        def running_sum(x, axis=-1):
            return np.cumsum(x, axis, dtype=x.dtype)

    Parameters without a default are inputs, those with one are fields. `inputs` and `outputs` are as tenon.Plugin's (default: inputs
    of "T:any", of one type, and the output of that type). `shape` is a function of the inputs and fields, asked when a network is
    built and when shapes change; it answers the outputs' shapes and sees of each input its shape, its dtype and, of ports with
    "value", the elements as `value`. Without it the outputs have the first input's shape.

    A network runs the function, with a warning, once: it is slow and holds Python's lock. With forward="...C..." the layer has a
    compiled kernel instead, and the function is the reference that check() compares with; `options` are then those of
    tenon.Plugin, and so is `shape`."""

    def decorate(function):
        parameters = inspect.signature(function).parameters.values()
        names = [each.name for each in parameters if each.default is each.empty]
        fields = {each.name: each.default for each in parameters if each.default is not each.empty}
        given = inputs or {each: "T:any" if index == 0 else "T" for index, each in enumerate(names)}
        found = outputs if isinstance(outputs, dict) or inputs else {each: "T" for each in outputs}
        doc = inspect.cleandoc(function.__doc__ or "")
        if [port.name for port in _fields.read_ports(given, "input")] != names:
            raise ValueError(f"{name}: the inputs are {', '.join(given)}, and the function's parameters without a default "
                             f"{', '.join(names)}: expected the same")
        if forward is not None:
            return Plugin(name, given, found, fields, forward, shape=shape, cases=cases, version=version, reference=function, doc=doc,
                          **options)
        if options:
            raise TypeError(f"{name}: {', '.join(options)} {'is' if len(options) == 1 else 'are'} for a compiled kernel: expected "
                            "forward=\"...\" as well")
        if shape is not None and not callable(shape):
            raise TypeError(f"{name}: shape is {type(shape).__name__}: expected a function of inputs and fields")
        rule = shape or (lambda *views, **values: [views[0].shape] * len(found))
        return PythonOperator(function, name, given, found, fields, rule, cases, version, doc)

    return decorate
