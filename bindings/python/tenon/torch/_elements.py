# SPDX-License-Identifier: Apache-2.0
"""Converters of what is computed element by element, of reductions and products, and of arithmetic with extents."""

import math

import numpy as np
import torch

from tenon.torch._table import FLOATS, Value, converter

UNARY = {"relu": "Relu", "sigmoid": "Sigmoid", "tanh": "Tanh", "exp": "Exp", "log": "Log", "sqrt": "Sqrt", "abs": "Abs", "neg": "Neg",
         "erf": "Erf", "floor": "Floor", "ceil": "Ceil", "round": "Round", "sin": "Sin", "cos": "Cos", "tan": "Tan", "asin": "Asin",
         "acos": "Acos", "atan": "Atan", "sinh": "Sinh", "cosh": "Cosh", "asinh": "Asinh", "acosh": "Acosh", "atanh": "Atanh",
         "reciprocal": "Reciprocal", "sign": "Sign", "logical_not": "Not", "isnan": "IsNaN", "isinf": "IsInf", "hardswish": "HardSwish",
         "mish": "Mish"}
FLOAT = {"sigmoid", "tanh", "exp", "log", "sqrt", "erf", "sin", "cos", "tan", "reciprocal"}  # also of integers
BINARY = {"mul": "Mul", "maximum": "Max", "minimum": "Min"}
COMPARE = {"eq": "Equal", "lt": "Less", "le": "LessOrEqual", "gt": "Greater", "ge": "GreaterOrEqual"}
LOGICAL = {"logical_and": "And", "logical_or": "Or", "logical_xor": "Xor"}
EXTENT = {"add": "Add", "sub": "Sub", "mul": "Mul", "floordiv": "Div"}


def _unary(name, op):
    @converter(f"aten.{name}", f"aten.{name}_")
    def convert(net, x, *_):
        if name in FLOAT and not x.val.dtype.is_floating_point:
            x = net.cast(x, torch.float32)
        return net.add(op, [net.cast(x, torch.bool) if op == "Not" else x])


def _binary(name, op, result=None):
    @converter(f"aten.{name}", f"aten.{name}_")
    def convert(net, x, y):
        return net.add(op, net.promoted(x, y, dtype=result))


for _name, _op in UNARY.items():
    _unary(_name, _op)
for _name, _op in {**BINARY, **COMPARE}.items():
    _binary(_name, _op)
for _name, _op in LOGICAL.items():
    _binary(_name, _op, torch.bool)
converter("aten.bitwise_not")(lambda net, x: net.add("Not" if x.dtype == "bool" else "BitwiseNot", [x]))
for _name, _bool, _bits in (("and", "And", "BitwiseAnd"), ("or", "Or", "BitwiseOr")):
    converter(f"aten.bitwise_{_name}", f"aten.__{_name}__")(
        lambda net, x, y, _bool=_bool, _bits=_bits: net.add(_bool if x.dtype == "bool" else _bits, net.promoted(x, y)))
for _name, _op in EXTENT.items():
    converter(f"python.{_name}")(
        lambda net, x, y, _op=_op: net.add(_op, [each if isinstance(each, Value) else net.constant(np.int64(each)) for each in (x, y)]))
converter("python.sym_max")(lambda net, x, y: net.add("Max", net.promoted(x, y, dtype=torch.int64)))
converter("python.sym_min")(lambda net, x, y: net.add("Min", net.promoted(x, y, dtype=torch.int64)))
converter("python.neg")(lambda net, x: net.add("Neg", [x]))


@converter("aten.add", "aten.add_")
def add(net, x, y, alpha=1):
    x, y = net.promoted(x, y)
    return net.add("Add", [x, y if alpha == 1 else net.add("Mul", [y, net.cast(alpha, y.dtype)], dtype=y.dtype)])


@converter("aten.sub", "aten.sub_", "aten.rsub")
def sub(net, x, y, alpha=1):
    x, y = net.promoted(x, y)
    return net.add("Sub", [x, y if alpha == 1 else net.add("Mul", [y, net.cast(alpha, y.dtype)], dtype=y.dtype)])


converter("aten.rsub.Scalar", "aten.rsub.Tensor")(lambda net, x, y, alpha=1: sub(net, y, x, alpha) if alpha == 1 else
                                                  sub(net, y, net.value(net.add("Mul", net.promoted(x, alpha)), x.val)))


@converter("aten.div", "aten.div_")
def div(net, x, y, rounding_mode=None):
    x, y = net.promoted(x, y)
    if x.dtype not in FLOATS and rounding_mode is None:
        x, y = net.cast(x, "f32"), net.cast(y, "f32")
    quotient = net.add("Div", [x, y], dtype=x.dtype)
    if rounding_mode is None or x.dtype not in FLOATS and rounding_mode == "trunc":
        return quotient
    if rounding_mode == "floor":
        if x.dtype not in FLOATS:
            return net.cast(net.add("Floor", [net.add("Div", [net.cast(x, "f64"), net.cast(y, "f64")])], dtype="f64"), x.dtype)
        return net.add("Floor", [quotient])
    return net.add("Mul", [net.add("Sign", [quotient]), net.add("Floor", [net.add("Abs", [quotient])])])


converter("aten.floor_divide")(lambda net, x, y: div(net, x, y, "floor"))
converter("aten.ne")(lambda net, x, y: net.add("Not", [net.add("Equal", net.promoted(x, y))]))
converter("aten.pow", "aten.pow_")(lambda net, x, y: net.add("Pow", net.promoted(x, y)))
converter("aten.remainder")(lambda net, x, y: _remainder(net, *net.promoted(x, y)))
converter("aten.fmod")(lambda net, x, y: net.add("Mod", net.promoted(x, y), fmod=1))
converter("aten.square")(lambda net, x: net.add("Mul", [x, x]))
converter("aten.rsqrt")(lambda net, x: net.add("Reciprocal", [net.add("Sqrt", [x])]))
converter("aten.log1p")(lambda net, x: net.add("Log", [net.add("Add", net.promoted(x, 1.0))]))
converter("aten.log2")(lambda net, x: net.add("Div", net.promoted(net.value(net.add("Log", [x]), x.val), math.log(2))))
converter("aten.trunc")(lambda net, x: net.add("Mul", [net.add("Sign", [x]), net.add("Floor", [net.add("Abs", [x])])]))
converter("aten.silu", "aten.silu_")(lambda net, x: net.add("Mul", [x, net.add("Sigmoid", [x])]))
converter("aten.gelu")(lambda net, x, approximate="none": net.add("Gelu", [x], approximate=approximate))
converter("aten.leaky_relu", "aten.leaky_relu_")(lambda net, x, slope=0.01: net.add("LeakyRelu", [x], alpha=float(slope)))
converter("aten.elu", "aten.elu_")(lambda net, x, alpha=1, scale=1, input_scale=1: _elu(net, x, alpha, scale, input_scale))
converter("aten.selu", "aten.selu_")(lambda net, x: net.add("Selu", [x]))
converter("aten.celu", "aten.celu_")(lambda net, x, alpha=1.0: net.add("Celu", [x], alpha=float(alpha)))
converter("aten.hardsigmoid", "aten.hardsigmoid_")(lambda net, x: net.add("HardSigmoid", [x], alpha=1 / 6, beta=0.5))
converter("aten.logical_not")(lambda net, x: net.add("Not", [net.cast(x, torch.bool)]))
converter("aten.where")(lambda net, condition, x, y: net.add("Where", [condition, *net.promoted(x, y)]))
converter("aten.masked_fill", "aten.masked_fill_")(lambda net, x, mask, value: net.add("Where", [mask, net.cast(value, x.dtype), x]))


def _remainder(net, x, y):
    if x.dtype not in FLOATS:
        return net.add("Mod", [x, y])
    return net.add("Sub", [x, net.add("Mul", [net.add("Floor", [net.add("Div", [x, y])]), y])])


def _elu(net, x, alpha, scale, input_scale):
    if scale != 1 or input_scale != 1:
        raise ValueError("elu with a scale: expected 1")
    return net.add("Elu", [x], alpha=float(alpha))


@converter("aten.softplus")
def softplus(net, x, beta=1, threshold=20):
    scaled = x if beta == 1 else net.add("Mul", net.promoted(x, float(beta)), dtype=x.dtype)
    soft = net.add("Softplus", [scaled])
    soft = soft if beta == 1 else net.add("Div", [soft, net.cast(float(beta), x.dtype)])
    return net.add("Where", [net.add("Greater", [scaled, net.cast(float(threshold), x.dtype)]), x, soft])


@converter("aten.clamp", "aten.clamp_", "aten.hardtanh", "aten.hardtanh_", "aten.clip")
def clamp(net, x, low=None, high=None):
    return net.add("Clip", [x, None if low is None else net.cast(low, x.dtype), None if high is None else net.cast(high, x.dtype)])


converter("aten.relu6", "aten.relu6_")(lambda net, x: clamp(net, x, 0, 6))
converter("aten.clamp_min")(lambda net, x, low: clamp(net, x, low))
converter("aten.clamp_max")(lambda net, x, high: clamp(net, x, None, high))

# --- reductions and products ----------------------------------------------------------------------


def reduce(net, op, x, axes, keep, dtype=None):
    if dtype is not None:
        x = net.cast(x, dtype)
    axes = [axes] if isinstance(axes, int) else axes
    return net.add(op, [x, net.axes(axes) if axes else None], keepdims=int(bool(keep)))


for _name, _op in {"mean": "ReduceMean", "sum": "ReduceSum", "amax": "ReduceMax", "amin": "ReduceMin"}.items():
    converter(f"aten.{_name}", f"aten.{_name}.dim_IntList", f"aten.{_name}.dim")(
        lambda net, x, axes=None, keep=False, dtype=None, *_, _op=_op: reduce(net, _op, _summed(net, _op, x), axes, keep, dtype))
    converter(f"aten.{_name}.default")(
        lambda net, x, *rest, _op=_op: reduce(net, _op, _summed(net, _op, x), *(rest[:2] if _op in ("ReduceMax", "ReduceMin") else
                                                                               (None, False, rest[0] if rest else None))))
converter("aten.max.default")(lambda net, x: reduce(net, "ReduceMax", x, None, False))
converter("aten.min.default")(lambda net, x: reduce(net, "ReduceMin", x, None, False))
converter("aten.prod.dim_int")(lambda net, x, axis, keep=False, dtype=None: reduce(net, "ReduceProd", x, axis, keep, dtype))


@converter("aten.var.correction")
def variance(net, x, axes=None, correction=None, keep=False):
    axes = [axes] if isinstance(axes, int) else axes
    difference = net.add("Sub", [x, reduce(net, "ReduceMean", x, axes, True)])
    square = net.add("Mul", [difference, difference])
    mean = reduce(net, "ReduceMean", net.value(square, x.val), axes, keep)
    correction = 1 if correction is None else correction
    if not correction:
        return mean
    extents = [x.val.shape[axis] for axis in (range(x.rank) if axes is None else axes)]
    if not all(isinstance(extent, int) for extent in extents):
        raise ValueError("a corrected variance over extents that only a run knows: expected correction=0, or known ones")
    count = math.prod(extents)
    return net.add("Mul", [mean, net.cast(count / max(count - correction, 0) if count > correction else math.nan, x.dtype)])


converter("aten.std.correction")(lambda net, *arguments: net.add("Sqrt", [variance(net, *arguments)]))


@converter("aten.linalg_vector_norm")
def vector_norm(net, x, order=2, axes=None, keep=False, dtype=None):
    """(sum |x|^order)^(1/order), and its limits: the largest and the least magnitude, and the count of what is not 0."""
    x = x if dtype is None else net.cast(x, dtype)
    named = {1: "ReduceL1", 2: "ReduceL2", math.inf: "ReduceMax", -math.inf: "ReduceMin"}
    if order in (1, 2):
        return reduce(net, named[order], x, axes, keep)
    magnitude = net.add("Abs", [x])
    if order in named:
        return reduce(net, named[order], magnitude, axes, keep)
    if order == 0:
        return reduce(net, "ReduceSum", net.add("Sign", [magnitude]), axes, keep)
    power = net.add("Pow", [magnitude, net.cast(float(order), x.dtype)])
    return net.add("Pow", [reduce(net, "ReduceSum", power, axes, keep), net.cast(1 / order, x.dtype)])


def _summed(net, op, x):
    return net.cast(x, torch.int64) if op == "ReduceSum" and x.dtype not in FLOATS else x


def _arg(name, op):
    @converter(f"aten.{name}")
    def convert(net, x, axis=None, keep=False):
        if axis is None:
            return net.add("Squeeze", [net.add(op, [net.add("Reshape", [x, net.axes([-1])])], axis=0, keepdims=1)])
        return net.add(op, [x], axis=axis, keepdims=int(keep))


def _extreme(name, op, arg):
    @converter(f"aten.{name}.dim")
    def convert(net, x, axis, keep=False):
        return [reduce(net, op, x, axis, keep), net.add(arg, [x], axis=axis, keepdims=int(keep))]


_arg("argmax", "ArgMax")
_arg("argmin", "ArgMin")
_extreme("max", "ReduceMax", "ArgMax")
_extreme("min", "ReduceMin", "ArgMin")


@converter("aten.topk")
def topk(net, x, k, axis=-1, largest=True, is_sorted=True):
    return net.add("TopK", [x, net.extents([k])], {"axis": axis, "largest": int(largest), "sorted": int(is_sorted)}, 2)


@converter("aten.cumsum")
def cumsum(net, x, axis, dtype=None):
    return net.add("CumSum", [net.cast(x, dtype or x.dtype), net.constant(np.int64(axis))])


@converter("aten.softmax.int", "aten._softmax")
def softmax(net, x, axis, dtype=None):
    return net.add("Softmax", [net.cast(x, dtype) if isinstance(dtype, torch.dtype) else x], axis=axis)


@converter("aten.log_softmax.int", "aten._log_softmax")
def log_softmax(net, x, axis, dtype=None):
    return net.add("LogSoftmax", [net.cast(x, dtype) if isinstance(dtype, torch.dtype) else x], axis=axis)


converter("aten.matmul", "aten.mm", "aten.bmm", "aten.mv", "aten.dot")(lambda net, x, y: net.add("MatMul", [x, y]))
converter("aten.einsum")(lambda net, equation, tensors, *_: net.add("Einsum", list(tensors), equation=equation))


@converter("aten.linear")
def linear(net, x, weight, bias=None):
    if x.rank == 2:
        return net.add("Gemm", [x, weight, bias], transB=1)
    product = net.add("MatMul", [x, net.add("Transpose", [weight], perm=[1, 0])])
    return product if bias is None else net.add("Add", [product, bias])


@converter("aten.addmm", "aten.baddbmm")
def addmm(net, bias, x, y, beta=1, alpha=1):
    if x.rank == 2:
        return net.add("Gemm", [x, y, bias], alpha=float(alpha), beta=float(beta))
    product = net.add("MatMul", [x, y], dtype=x.dtype)
    return add(net, bias if beta == 1 else net.value(net.add("Mul", net.promoted(bias, beta)), bias.val), net.value(product, x.val), alpha)
