# SPDX-License-Identifier: Apache-2.0
"""tenon.Plugin: a layer from source text. The text is compiled by tn_compile_library when it is first needed.

_fields.py reads what is declared, _code.py writes the C around the author's code, _findings.py runs the checks."""

import contextlib
import logging
import os
import sys

import numpy as np

from . import _code, _engine, _fields, _findings, _types
from ._runtime import default_runtime

REBUILD, CPP, ONLY, CUDA = 1, 2, 4, 8
ELEMENTWISE, DETERMINISTIC = 1, 1
PIECES = ("forward", "cuda", "cuda_src", "setup", "teardown", "members", "extra_src", "expression", "doc")


class Operator:
    """An operator that is declared in Python: called with arrays it computes its outputs, and `plugins=[operator]` of tenon.load and
    tenon.build, or load_into(runtime), make it known where networks use it."""

    def _declare(self, name, inputs, outputs, fields):
        self.name = name
        self.domain, self.op = _fields.split_name(name)
        self.inputs = _fields.read_ports(inputs, "input")
        self.outputs = _fields.read_ports(outputs, "output")
        if not self.outputs:
            raise ValueError(f"{name} has no outputs: expected one or more, like outputs=[\"y\"]")
        self.fields = _fields.read_fields(fields)
        names = [port.name for port in self.inputs + self.outputs]
        twice = [each for each in names + list(self.fields) if (names + list(self.fields)).count(each) > 1]
        if twice:
            raise ValueError(f"{name}: '{twice[0]}' names two of its inputs, outputs and fields")
        self._operations = {}

    def _rows(self):
        """The fields and ports as the extension takes them."""
        return {"fields": [field.row(name) for name, field in self.fields.items()],
                "inputs": [port.row() for port in self.inputs], "outputs": [port.row() for port in self.outputs],
                "domain": self.domain, "name": self.op}

    def load_into(self, runtime):
        raise NotImplementedError

    def _operation(self, count, fields, threads=0):
        attributes = _fields.attributes(fields, self.fields, self.name)
        key = (count, repr([(name, value if not isinstance(value, tuple) else id(value)) for name, _, value in attributes]), threads)
        if key not in self._operations:
            runtime = default_runtime()
            self.load_into(runtime)
            self._operations[key] = _engine.operation_create(runtime, self.domain, self.op, 0, count, len(self.outputs), attributes,
                                                             threads)
        return self._operations[key]

    def _arrays(self, arrays):
        least = sum(not port.has("optional") and not port.has("variadic") for port in self.inputs)
        most = float("inf") if any(port.has("variadic") for port in self.inputs) else len(self.inputs)
        if not least <= len(arrays) <= most:
            expected = ", ".join(port.name for port in self.inputs)
            raise TypeError(f"{self.name} of {len(arrays)} arrays: expected {expected}")
        return [None if array is None else _as_tensor(array, port, self.name) for array, port in
                zip(arrays, self.inputs + [self.inputs[-1]] * len(arrays))]

    def __call__(self, *arrays, **fields):
        """Computes the outputs of arrays: one array, or a list of them where there are more outputs. For a single thing to compute; a
        network is faster. Fields are given by name."""
        results = self._compute(self._arrays(arrays), fields)
        return results[0] if len(results) == 1 else results

    def _compute(self, tensors, fields):
        outputs = _engine.operation_run(self._operation(len(tensors), fields), tensors, len(self.outputs), True)
        return [_types.as_array(*output) for output in outputs]

    def infer(self, *arrays, **fields):
        """The (type, shape) of each output for these inputs, without computing them."""
        outputs = _engine.operation_run(self._operation(len(arrays), fields), self._arrays(arrays), len(self.outputs), False)
        return [(_types.NAMES[type], tuple(extents)) for type, extents, _ in outputs]

    def __repr__(self):
        inputs, outputs = (", ".join(f"{port.name}: {port.types}" for port in ports) for ports in (self.inputs, self.outputs))
        return f"<tenon.{type(self).__name__} {self.name}({inputs}) -> {outputs}>"


def _as_tensor(array, port, op):
    """A list or a number of Python takes the port's first type; an array keeps its own."""
    try:
        if not hasattr(array, "dtype"):
            types = port.types.rpartition(":")[2].split("|")
            array = np.asarray(array, _types.DTYPES[types[0]] if types[0] in _types.DTYPES else None)
        elif not isinstance(array, np.ndarray) and hasattr(array, "__dlpack__"):
            array = np.from_dlpack(array)
        return _types.as_tensor(array)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{op}, input '{port.name}': {error}") from None


class Plugin(Operator):
    """A layer from source text in C: tenon.Plugin(name, inputs, outputs, fields, forward="...").

    name: "Mine::SoftClip", the domain and the operator's name.
    inputs, outputs: ["x"], or {"x": "T:f32|f64"} with element types as in tenon/plugin.h, behind which may stand "optional",
        "variadic", "shape" (of an input only its shape is read) and "value" (the shape rule reads its elements).
    fields: {"low": 0.0, "sizes": [int]}: a default, a type (the field is required), or tenon.Field(...).
    forward: the body of the kernel. At hand are each port's tensor by its name (const tn_tensor *x: x->data, x->shape, x->rank), fields
        (fields->low), call, and tenon/layer.h (tn_layer_count(x)). A type variable (T) is a type of C in it.
    shape: the shape rule: {"y": ["x[0]", "x[1] * 2", "k"], "z": "x"}, or the body of a function in C. Without it: that of the first input.
    members, setup, teardown: members of a struct, and code that fills them once for each node, as self->NAME; forward reads them.
    extra_src, headers: code before all this, and what it includes: ["complex.h"].
    cuda, cuda_src: the body of a kernel for NVIDIA GPUs, which launches on `stream`, and the __global__ functions.
    reference: what the kernel is checked against: C like forward, or a function of NumPy arrays: reference(x, low=0.0).
    expression: in place of forward, of an elementwise operator (docs/expressions.md).
    cases: what check() tries, each "low=-1 | x=f32[2,3]" (docs/conformance.md).
    proto: fields as declarations of protobuf. extra_include_dirs, extra_library_dirs, extra_libraries, cflags: for the compiler;
    directory: where compiled layers are kept (default ~/.cache/tenon); language: "c" or "c++"; verbose: show what the compiler is
    called with and says. Errors: tenon.Error, by the lines of your file.
    """

    def __init__(self, name, inputs=("x",), outputs=("y",), fields=None, forward=None, *, cuda=None, cuda_src=None, setup=None,
                 teardown=None, shape=None, headers=(), members=None, extra_src=None, reference=None, expression=None, cases=(), doc="",
                 proto=None, extra_include_dirs=(), extra_library_dirs=(), extra_libraries=(), cflags=(), directory=None, language="c",
                 compiler=None, version=1, verbose=False):
        self._declare(name, inputs, outputs, {**(_fields.read_proto(proto) if proto else {}), **(fields or {})})
        self.forward, self.cuda, self.cuda_src, self.setup, self.teardown = forward, cuda, cuda_src, setup, teardown
        self.shape, self.headers, self.members, self.extra_src = shape, _list(headers), members, extra_src
        self.expression, self.cases, self.doc, self.version, self.verbose = expression, _list(cases), doc, version, verbose
        self.python_reference = reference if callable(reference) else None
        self.reference = None if callable(reference) else reference
        self._options = {"include_folders": [os.fspath(each) for each in _list(extra_include_dirs)],
                         "libraries": _list(extra_libraries), "compiler": compiler,
                         "compiler_flags": _list(cflags) + [f"-L{os.fspath(each)}" for each in _list(extra_library_dirs)],
                         "cache_folder": None if directory is None else os.path.abspath(os.fspath(directory)),
                         "source_name": name}
        self._flags = {"c": 0, "c++": CPP}.get(language)
        self._loaded = []
        self._file = _caller()
        self._check(language)

    def _check(self, language):
        for part in PIECES + (("shape",) if not isinstance(self.shape, dict) else ()):
            value = getattr(self, part)
            if value is not None and not isinstance(value, str):
                raise TypeError(f"{self.name}: {part} is {type(value).__name__}: expected a str")
        if self._flags is None:
            raise ValueError(f"{self.name}: language {language!r}: expected 'c' or 'c++'")
        if (self.forward is None) == (self.expression is None):
            both = "both" if self.forward is not None else "neither of them"
            raise ValueError(f"{self.name}: expected forward, the code of its kernel, or an expression; {both} came")
        if self.expression is not None and (self.setup or self.members):
            raise ValueError(f"{self.name}: setup and members go with forward, not with an expression")
        if self.teardown and not (self.setup or self.members):
            raise ValueError(f"{self.name}: teardown without setup")
        _code.shape_code(self)

    def _layer(self, cases):
        layer = self._rows() | {"doc": self.doc or None, "since_version": self.version, "cases": cases,
                                "traits": ELEMENTWISE if self.expression is not None else 0,
                                "kernel_traits": 0 if self.expression is not None else DETERMINISTIC, "expression": self.expression}
        return layer | _code.layer_parts(self)

    def _compile(self, runtime, flags, cases=None):
        options = {name: value for name, value in self._options.items() if value is not None}
        options["flags"] = self._flags | flags
        try:
            with _shown(self.verbose):
                return _engine.compile_library(runtime, self._layer(self.cases if cases is None else cases), options)
        except _engine.Error as error:
            raise _with_own_lines(error, self) from None

    def build(self, rebuild=False):
        """Compiles the layer, unless the cache has it, and answers the library's file: what `--plugin` of the command line takes, and
        what is shipped beside a plan. rebuild=True compiles in any case."""
        runtime = _engine.Runtime(log_level=3) if self.verbose else default_runtime()
        return self._compile(runtime, ONLY | (REBUILD if rebuild else 0))

    def rebuild(self):
        """As build, also where the cache has the layer."""
        return self.build(rebuild=True)

    @property
    def path(self):
        """The library's file; compiled where it is not there."""
        return self.build()

    def load_into(self, runtime):
        """Compiles the layer and registers it in a tenon.Runtime; the second time there is nothing to do."""
        if any(each is runtime for each in self._loaded):
            return
        if self.verbose:
            self.build()
        self._compile(runtime, 0)
        if self.cuda is not None:
            self._load_cuda(runtime)
        self._loaded.append(runtime)

    def _load_cuda(self, runtime):
        try:
            runtime.find_device("cuda")
        except _engine.Error as error:
            logging.getLogger("tenon").info("%s: no kernel for CUDA is compiled: %s", self.name, error)
            return
        self.build_cuda(runtime)

    def build_cuda(self, runtime=None):
        """Compiles the kernel for NVIDIA GPUs by nvcc; answers its library's file. With a runtime it is loaded there."""
        if self.cuda is None:
            raise ValueError(f"{self.name} has no code for CUDA: expected cuda=\"...\"")
        options = {name: value for name, value in self._options.items() if value is not None and name not in ("compiler", "compiler_flags")}
        options |= {"source": _code.cuda_source(self), "flags": CUDA | (0 if runtime else ONLY), "source_name": f"{self.name} (CUDA)"}
        try:
            return _engine.compile_library(runtime or default_runtime(), None, options)
        except _engine.Error as error:
            raise _with_own_lines(error, self) from None

    def check(self, *arrays, raises=True, rules=(), **fields):
        """Holds the layer against every rule of docs/conformance.md and answers the findings, which print as a table.

        Arrays and fields are one more case: their types and shapes. A reference in NumPy is compared with the kernel on them, and on
        the cases. raises: tenon.CheckFailed where a rule is broken."""
        cases = list(self.cases)
        if arrays:
            cases.append(_findings.case_of(self, arrays, fields))
        if not cases and self.expression is None:
            cases = _findings.default_cases(self)
        findings = _findings.check(self._compile(default_runtime(), ONLY, cases), rules)
        if self.python_reference:
            findings.extend(_findings.compare(self, cases, [(arrays, fields)] if arrays else []))
        if raises and findings.failed:
            raise _findings.CheckFailed(findings)
        return findings

    def bench(self, *arrays, threads=1, **fields):
        """Times the layer's kernels on these arrays' types and shapes, or on its cases; answers rows that print as a table."""
        cases = [_findings.case_of(self, arrays, fields)] if arrays else list(self.cases)
        if not cases and self.expression is None:
            cases = _findings.default_cases(self)
        return _findings.bench(self._compile(default_runtime(), ONLY, cases), threads, cases[0] if arrays else None)


def _list(value):
    return [value] if isinstance(value, (str, os.PathLike)) else list(value or ())


def _caller():
    """The file that called from outside of this package."""
    here, frame = os.path.dirname(__file__), sys._getframe(1)
    while frame and os.path.dirname(frame.f_code.co_filename) == here:
        frame = frame.f_back
    return frame.f_code.co_filename if frame else None


def _with_own_lines(error, plugin):
    for part in ("message", "mend"):
        if isinstance(getattr(error, part, None), str):
            setattr(error, part, _code.with_own_lines(getattr(error, part), plugin, plugin._file))
    error.args = tuple(_code.with_own_lines(arg, plugin, plugin._file) if isinstance(arg, str) else arg for arg in error.args)
    return error


@contextlib.contextmanager
def _shown(is_shown):
    """The log on stderr meanwhile."""
    logger, handler, level = logging.getLogger("tenon"), logging.StreamHandler(sys.stderr), logging.getLogger("tenon").level
    if is_shown:
        logger.addHandler(handler)
        logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        if is_shown:
            logger.removeHandler(handler)
            logger.setLevel(level)
