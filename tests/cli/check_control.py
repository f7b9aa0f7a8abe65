# SPDX-License-Identifier: Apache-2.0
"""If, Loop and Scan among the built-in operators: networks as exporters write them (a while loop with several states, a for loop over
an extent, branches on an input's value, scans with axes and directions), branches and iterations whose shapes differ, compared with
onnxruntime by kernels and by references; and bodies that are wrong.

Usage: check_control.py TENON. Needs NumPy, onnx and onnxruntime.
"""

import functools
import json
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

import check_bodies
from check_bodies import B, F, I, branches, graph, info, node
from checks import ProgramChecks

ONE = numpy_helper.from_array(np.float32([1]), "one")
FORCED = "If=reference,Loop=reference,Scan=reference"


def model(whole, opset=17):
    return helper.make_model(whole, opset_imports=[helper.make_opsetid("", opset)], ir_version=9)


def i64(*values):
    return np.array(values, np.int64)


def scalar(value, kind=np.int64):
    return np.array(value, kind)


# --- branches ---

def other_shapes():
    """The extents of the result depend on the data; what comes behind has them."""
    return model(graph("g", [node("ReduceSum", "x", "sum", keepdims=0), node("Greater", "sum zero", "c"),
                             branches("c", [node("Concat", "x x", "t", axis=0)], [node("Neg", "x", "e")], "r"),
                             node("Relu", "r", "y"), node("MatMul", "r w", "z")],
                       [info("x", F, "n", 3)], [("y", F, "m", 3), ("z", F, "m", 2)],
                       [("zero", scalar(0, np.float32)), ("w", np.arange(6, dtype=np.float32).reshape(3, 2))]))


def other_ranks():
    """As an exporter writes squeeze, of which only the data knows what it does."""
    return model(graph("g", [node("ReduceSum", "x", "sum", keepdims=0), node("Greater", "sum zero", "c"),
                             branches("c", [node("ReduceMean", "x", "t", axes=[0], keepdims=0)], [node("Identity", "x", "e")], "r"),
                             node("Exp", "r", "y"), node("Shape", "r", "s"), node("Cast", "r", "whole", to=TensorProto.INT32)],
                       [info("x", F, 2, 3)], [("y", F, None), ("s", I, None), ("whole", TensorProto.INT32, None)],
                       [("zero", scalar(0, np.float32))]))


def product_of_ranks():
    """A product behind branches of two ranks: its kernel is prepared for one of them, and a run that finds the other takes the reference."""
    return model(graph("g", [node("ReduceSum", "x", "sum", keepdims=0), node("Greater", "sum zero", "c"),
                             branches("c", [node("ReduceMean", "x", "t", axes=[0], keepdims=0)], [node("Identity", "x", "e")], "r"),
                             node("MatMul", "r w", "product"), node("Add", "product b", "shifted"), node("Relu", "shifted", "y")],
                       [info("x", F, 2, 3)], [("y", F, None)],
                       [("zero", scalar(0, np.float32)), ("w", np.arange(6, dtype=np.float32).reshape(3, 2)), ("b", np.float32([0.5, -1]))]))


def squeeze_by_shape():
    """The condition follows from shapes: one branch does not take them."""
    return model(graph("g", [node("Shape", "x", "s"), node("Gather", "s zero", "n"), node("Equal", "n one", "c"),
                             branches("c", [node("Squeeze", "x axis", "t")], [node("Identity", "x", "e")], "r", [("axis", i64(0))]),
                             node("Relu", "r", "y")],
                       [info("x", F, "n", 4)], [("y", F, None)], [("zero", scalar(0)), ("one", scalar(1))]))


def nested_ranks():
    inner = branches("d", [node("ReduceMean", "x", "t", axes=[0, 1], keepdims=0)], [node("ReduceMean", "x", "e", axes=[1], keepdims=0)], "t")
    return model(graph("g", [branches("c", [inner], [node("Identity", "x", "e")], "r"), node("Neg", "r", "y")],
                       [info("x", F, 2, 3), info("c", B), info("d", B)], [("y", F, None)]))


def unmatched_ranks(kind=F):
    """Each branch takes one combination of ranks, and no example of them: of what follows types alone are known before the run, to the
    If, the Loop and the Cast behind it, too."""
    ranks = [branches(c, [node("Squeeze", "x one", "t")], [node("Identity", "x", "e")], r) for c, r in (("c", "u"), ("d", "v"))]
    sums = [[node("Transpose", f"{flat}", f"{o}1", perm=[0]), node("Transpose", f"{whole}", f"{o}2", perm=[1, 0]), node("Squeeze", f"{o}2 zero", f"{o}3"),
             node("Add", f"{o}1 {o}3", o)] for flat, whole, o in (("u", "v", "t"), ("v", "u", "e"))]
    body = graph("body", [node("Identity", "go", "go_out"), node("Sub", "w s", "w_out"), node("Cast", "s", "number", to=I)],
                 [info("i", I), info("go", B), info("w", F, None)], [("go_out", B), ("w_out", F, None), ("number", I, None)])
    inner = graph("inner", [node("If", "c", "s", then_branch=graph("then", sums[0], [], [("t", F, None)]),
                                 else_branch=graph("else", sums[1], [], [("e", F, None)])),
                            node("Cast", "s", "k", to=kind), branches("d", [node("Abs", "s", "t")], [node("Identity", "k", "e")], "r"),
                            node("Loop", "two  r", "w numbers", body=body), node("Neg", "w", "low")], [], [("low", F, None), ("numbers", I, None)])
    other = graph("other", [node("Identity", "x", "same"), node("Cast", "x", "integers", to=I)], [], [("same", F, None), ("integers", I, None)])
    return model(graph("g", [node("Not", "c", "d"), *ranks, node("If", "inside", "y z", then_branch=inner, else_branch=other)],
                       [info("x", F, "n", 1), info("c", B), info("inside", B)], [("y", F, None), ("z", I, None)],
                       [("zero", i64(0)), ("one", i64(1)), ("two", scalar(2))]))


def known():
    """Conditions that are constants, or follow from extents that never differ; branches in branches, whose names are those around them."""
    inner = branches("no", [node("Mul", "x w", "t")], [node("Neg", "x", "e")], "u")
    outer = branches("yes", [inner, node("Add", "u w", "t")], [node("Neg", "x", "e")], "r", [("no", flag(False))])
    return model(graph("g", [node("Shape", "x", "s"), node("ReduceProd", "s", "p", keepdims=0), node("Equal", "p six", "yes"), outer,
                             node("Relu", "r", "v"), node("Add", "v w", "y")],
                       [info("x", F, 2, 3)], [("y", F, None)], [("six", scalar(6)), ("w", scalar(2, np.float32))]))


def lists_in_bodies():
    """Sequences within a body: one made and read in each iteration, and one in a branch, of what the loop returns."""
    body = graph("body", [node("SplitToSequence", "v", "s", axis=0), node("SequenceLength", "s", "count"), node("Mod", "i count", "at"),
                          node("SequenceAt", "s at", "row"), node("Neg", "row", "changed"), node("SequenceInsert", "s changed", "more"),
                          node("SequenceErase", "more first", "fewer"), node("ConcatFromSequence", "fewer", "w", axis=0), node("Identity", "go", "go_out")],
                 [info("i", I), info("go", B), info("v", F, "k", 3)], [("go_out", B), ("w", F, "k", 3), ("row", F, 1, 3)], [("first", scalar(0))])
    both = branches("c", [node("SequenceConstruct", "r q", "pair"), node("SequenceAt", "pair one", "t")],
                    [node("Optional", "r", "o"), node("OptionalGetElement", "o", "e")], "y", [("one", scalar(1))])
    return model(graph("g", [node("Loop", "n  x", "r rows", body=body), node("Exp", "r", "q"), both],
                       [info("x", F, 2, 3), info("n", I), info("c", B)], [("y", F, None), ("rows", F, None, 1, 3)]))


def rate():
    """A sample rate, an input, chooses between two networks of different weights."""
    def net(prefix, width):
        return [node("Conv", f"x {prefix}w", f"{prefix}a"), node("Relu", f"{prefix}a", f"{prefix}b"),
                node("ReduceMean", f"{prefix}b", f"{prefix}o", axes=[2], keepdims=0)], [
                    (f"{prefix}w", np.linspace(-1, 1, 4 * width, dtype=np.float32).reshape(4, 1, width))]
    then_nodes, then_constants = net("t_", 3)
    else_nodes, else_constants = net("e_", 5)
    chosen = node("If", "c", "h", then_branch=graph("then", then_nodes, [], [("t_o", F, None)], then_constants),
                  else_branch=graph("else", else_nodes, [], [("e_o", F, None)], else_constants))
    return model(graph("g", [node("Equal", "sr rate", "c"), chosen, node("Gemm", "h w", "y")],
                       [info("x", F, 1, 1, 64), info("sr", I)], [("y", F, 1, 2)],
                       [("rate", scalar(16000)), ("w", np.arange(8, dtype=np.float32).reshape(4, 2))]))


# --- loops ---

def while_states():
    """A while loop over a counter, a vector and a matrix that grows, as converters of TensorFlow's networks write it."""
    body = graph("body", [node("Identity", "k", "k1"), node("Add", "k1 one", "k_out"), node("Mul", "v half", "v_out"),
                          node("Unsqueeze", "v_out front", "row"), node("Concat", "m row", "m_out", axis=0),
                          node("Less", "k_out limit", "go_out")],
                 [info("i", I), info("go", B), info("k", TensorProto.INT32), info("v", F, None), info("m", F, None, None)],
                 [("go_out", B), ("k_out", TensorProto.INT32), ("v_out", F, None), ("m_out", F, None, None)],
                 [("one", scalar(1, np.int32)), ("half", scalar(0.5, np.float32)), ("front", i64(0))])
    return model(graph("g", [node("Less", "start limit", "go"), node("Unsqueeze", "x front0", "m0"),
                             node("Loop", "most go start x m0", "k v m", body=body), node("ReduceSum", "m rows", "y", keepdims=0)],
                       [info("x", F, 3), info("limit", TensorProto.INT32)],
                       [("k", TensorProto.INT32), ("v", F, 3), ("m", F, "rows", 3), ("y", F, 3)],
                       [("most", scalar(2147483647)), ("start", scalar(0, np.int32)), ("front0", i64(0)), ("rows", i64(0))]))


def for_over_extent():
    """for i in range(x.size(0)), as PyTorch's exporter writes it; the number of iterations follows from a shape."""
    body = graph("body", [node("Gather", "x i", "row", axis=0), node("Add", "h row", "a"), node("Tanh", "a", "h_out"),
                          node("Cast", "go", "go_out", to=B)],
                 [info("i", I), info("go", B), info("h", F, None)], [("go_out", B), ("h_out", F, None), ("h_out", F, None)])
    return model(graph("g", [node("Shape", "x", "s"), node("Gather", "s zero", "n"), node("Loop", "n true h0", "h hs", body=body),
                             node("MatMul", "hs w", "y")],
                       [info("x", F, "n", 3)], [("h", F, 3), ("y", F, "n", 2)],
                       [("zero", scalar(0)), ("true", scalar(True, np.bool_)), ("h0", np.zeros(3, np.float32)),
                        ("w", np.arange(6, dtype=np.float32).reshape(3, 2))]))


def carried_unchanged(inner="u"):
    """As tf2onnx carries weights: returned as they came, directly and by way of Identity; also handed out, and stacked. One is called
    "t" around the body, and may be another tensor within."""
    body = graph("body", [node("MatMul", "h w_in", "p"), node("Add", "p b_in", inner), node("Mul", f"{inner} k_in", "h_out"),
                          node("Identity", "b_in", "b_out"), node("Identity", "go", "go_out")],
                 [info("i", I), info("go", B), info("h", F, None), info("w_in", F, None), info("b_in", F, None), info("k_in", F, None)],
                 [("go_out", B), ("h_out", F, None), ("w_in", F, None), ("b_out", F, None), ("k_in", F, None), ("b_in", F, None)])
    return model(graph("g", [node("Relu", "k", "t"), node("Loop", "n  h0 w b t", "h w_after b_after k_after bs", body=body),
                             node("Add", "w_after w", "w_sum")],
                       [info("h0", F, 1, 3), info("n", I), info("k", F, 3)],
                       [("h", F, 1, 3), ("w_sum", F, 3, 3), ("b_after", F, 3), ("k_after", F, 3), ("bs", F, "n", 3)],
                       [("w", np.arange(9, dtype=np.float32).reshape(3, 3) / 16), ("b", np.float32([1, 2, 3]))]))


def windows():
    """The iteration's number decides the shape of what is carried."""
    body = graph("body", [node("Unsqueeze", "i axis", "from"), node("Add", "from two", "to"), node("Slice", "x from to", "part"),
                          node("Identity", "go", "go_out"), node("ReduceMax", "part", "top", keepdims=0)],
                 [info("i", I), info("go", B), info("v", F, None)], [("go_out", B), ("part", F, None), ("top", F, None)],
                 [("axis", i64(0)), ("two", i64(2))])
    return model(graph("g", [node("Loop", "n  x", "v t", body=body), node("Neg", "v", "y")],
                       [info("x", F, 5), info("n", I)], [("y", F, None), ("t", F, "n")]))


def ranks_in_turn():
    """What is carried has another rank in each iteration; one branch takes even extents alone, which the ends of a profile are not."""
    rank = node("If", "is_even", "w", then_branch=graph("then", [node("Reshape", "v halves", "t")], [], [("t", F, None)]),
                else_branch=graph("else", [node("Reshape", "v flat", "e")], [], [("e", F, None)]))
    body = graph("body", [node("Identity", "go", "go_out"), node("Mod", "i two", "rest"), node("Equal", "rest zero", "is_even"), rank],
                 [info("i", I), info("go", B), info("v", F, None)], [("go_out", B), ("w", F, None)],
                 [("two", scalar(2)), ("zero", scalar(0)), ("halves", i64(2, -1)), ("flat", i64(-1))])
    return model(graph("g", [node("Loop", "n  x", "y", body=body), node("Shape", "y", "s")], [info("x", F, "k"), info("n", I)],
                       [("y", F, None), ("s", I, None)]))


def without_a_count():
    body = graph("body", [node("Add", "v one", "v_out"), node("Less", "v_out ten", "go_out")],
                 [info("i", I), info("go", B), info("v", F)], [("go_out", B), ("v_out", F), ("v_out", F)],
                 [("one", scalar(1, np.float32)), ("ten", scalar(10, np.float32))])
    return model(graph("g", [node("Loop", " c v", "y ys", body=body)], [info("c", B), info("v", F)], [("y", F), ("ys", F, "n")]))


def counted(form="less", extents=("n", 2, 8, 8)):
    """A counter ends the loop, as converters write it: compared after it was raised or before, by other relations, with other conditions
    beside it, or the iteration's own number. What is stacked goes through a convolution."""
    condition = {
        "less": [node("Less", "k_out steps", "go_out")],
        "before": [node("Identity", "k", "k1"), node("Less", "k1 steps", "go_out")],
        "greater": [node("Greater", "steps k_out", "less"), node("Cast", "less", "go_out", to=B)],
        "or_equal": [node("LessOrEqual", "k_out steps", "go_out")],
        "number": [node("Add", "one64 i", "i1"), node("Less", "i1 steps64", "go_out")],
        "both": [node("Add", "k_out one", "k2"), node("GreaterOrEqual", "steps k2", "a"), node("Less", "i six", "b"), node("And", "b go", "c"),
                 node("And", "a c", "go_out")],
        "data": [node("Less", "k_out steps", "a"), node("ReduceMax", "v_out", "top", keepdims=0), node("Less", "top much", "b"),
                 node("And", "a b", "go_out")],
        "by_two": [node("Add", "k_out one", "k2"), node("Less", "k2 steps", "go_out")],
        "other": [node("Less", "h steps", "go_out")],
    }[form]
    step = "k2" if form == "by_two" else "k_out"
    body = graph("body", [node("Add", "k one", "k_out"), node("Sub", "h one", "h_out"), node("Mul", "v half", "v_out"), *condition],
                 [info("i", I), info("go", B), info("k", TensorProto.INT32), info("h", TensorProto.INT32), info("v", F, None)],
                 [("go_out", B), (step, TensorProto.INT32), ("h_out", TensorProto.INT32), ("v_out", F, None), ("v_out", F, None)],
                 [("one", scalar(1, np.int32)), ("half", scalar(0.5, np.float32)), ("one64", i64(1)), ("six", i64(6))])
    return model(graph("g", [node("Shape", "x", "s"), node("Gather", "s zero", "steps64", axis=0), node("Cast", "steps64", "steps", to=TensorProto.INT32),
                             node("Gather", "x zero", "v0", axis=0), node("Less", "first steps", "go"),
                             node("Loop", "most go first steps v0", "k h v rows", body=body), node("Conv", "rows w", "y", pads=[1, 1, 1, 1])],
                       [info("x", F, *extents)], [("k", TensorProto.INT32), ("y", F, "m", 3, 8, 8), ("v", F, 2, 8, 8)],
                       [("zero", scalar(0)), ("first", scalar(0, np.int32)), ("most", scalar(2**63 - 1)), ("much", scalar(1, np.float32)),
                        ("w", np.linspace(-1, 1, 54, dtype=np.float32).reshape(3, 2, 3, 3))]))


COUNTED = ("less", "before", "greater", "or_equal", "number", "both")  # the others end by data, or by other steps than 1


def bounded_branches():
    """What each branch finds has the same bound, and another size."""
    found = node("If", "c", "r", then_branch=graph("then", [node("NonZero", "x", "t")], [], [("t", I, None)]),
                 else_branch=graph("else", [node("Sub", "x one", "d"), node("NonZero", "d", "e")], [], [("e", I, None)]))
    return model(graph("g", [found, node("Abs", "r", "y")], [info("x", F, 2, 3), info("c", B)], [("y", I, None)], [("one", scalar(1, np.float32))]))


def bounded_iterations():
    """What is carried and what is stacked are parts of bounded size."""
    body = graph("body", [node("Compress", "v keep", "w", axis=0), node("Compress", "x keep", "s", axis=0), node("Identity", "go", "go_out")],
                 [info("i", I), info("go", B), info("v", F, None)], [("go_out", B), ("w", F, None), ("s", F, None)],
                 [("keep", np.array([True, False, True]))])
    return model(graph("g", [node("Loop", "n  x", "v s", body=body)], [info("x", F, 3), info("n", I)], [("v", F, None), ("s", F, None)]))


def pasted():
    """Masks are pasted into an image, as torchvision's detectors do: the boxes, which the data finds, decide shapes in the loop's body, and
    a filled tensor before them has a type where nobody knows its shape."""
    body = graph("body", [node("Gather", "boxes i", "box", axis=0), node("Split", "box", "from size", axis=0), node("ConstantOfShape", "size", "ones", value=ONE),
                          node("Sub", "limit from", "rest"), node("Sub", "rest size", "behind"), node("Concat", "from behind", "pads", axis=0),
                          node("Pad", "ones pads", "mask"), node("Unsqueeze", "mask first", "row"), node("Concat", "v row", "w", axis=0),
                          node("Identity", "go", "go_out")],
                 [info("i", I), info("go", B), info("v", F, None)], [("go_out", B), ("w", F, None)])
    return model(graph("g", [node("Conv", "x k", "h", pads=[1, 1, 1, 1]), node("Shape", "h", "hs"), node("ConstantOfShape", "hs", "low"),
                             node("ReduceMax", "h", "top", keepdims=0), node("Greater", "top high", "c"),
                             branches("c", [node("Sub", "h low", "t")], [node("Add", "low h", "e")], "f"), node("Greater", "f low", "found"), node("NonZero", "found", "at"), node("Transpose", "at", "rows", perm=[1, 0]),
                             node("Slice", "rows two four axis", "corners"), node("Add", "corners one", "sizes"), node("Min", "sizes three", "small"),
                             node("Concat", "corners small", "boxes", axis=1), node("Shape", "boxes", "bs"), node("Gather", "bs zero", "n", axis=0),
                             node("Loop", "n  none", "y", body=body)],
                       [info("x", F, 1, 1, "h", 5)], [("y", F, "n", 9, 9)],
                       [("k", np.float32([[[[0, 0, 0], [0, 1, 0], [0, 0, 0]]]])), ("two", i64(2)), ("four", i64(4)), ("axis", i64(1)), ("one", i64(1)),
                        ("three", i64(3)), ("zero", scalar(0)), ("high", scalar(1, np.float32)), ("none", np.zeros((0, 9, 9), np.float32)), ("limit", i64(9, 9)), ("first", i64(0))]))


def stacks_of_data():
    """What is stacked has a shape that only the data knows."""
    body = graph("body", [node("ReduceSum", "x", "sum", keepdims=0), node("Greater", "sum zero", "c"),
                          branches("c", [node("Concat", "x x", "t", axis=0)], [node("Neg", "x", "e")], "rows"), node("Identity", "go", "go_out")],
                 [info("i", I), info("go", B)], [("go_out", B), ("rows", F, None)], [("zero", scalar(0, np.float32))])
    return model(graph("g", [node("Loop", "n true", "y", body=body)], [info("x", F, 6), info("n", I)], [("y", F, "n", "found")],
                       [("true", scalar(True, np.bool_))]))


def fixed_behind_counted():
    """Extents of what is carried are fixed though only the data counts the iterations: a convolution behind it."""
    body = graph("body", [node("Mul", "v half", "v_out"), node("ReduceMax", "v_out", "top", keepdims=0), node("Greater", "top small", "go_out")],
                 [info("i", I), info("go", B), info("v", F, None)], [("go_out", B), ("v_out", F, None)],
                 [("half", scalar(0.5, np.float32)), ("small", scalar(0.1, np.float32))])
    return model(graph("g", [node("Loop", " true x", "v", body=body), node("Conv", "v w", "y", pads=[1, 1, 1, 1])],
                       [info("x", F, 1, 2, 8, 8)], [("y", F, 1, 3, 8, 8)],
                       [("true", scalar(True, np.bool_)), ("w", np.linspace(-1, 1, 54, dtype=np.float32).reshape(3, 2, 3, 3))]))


def loop_in_loop():
    inner = graph("inner", [node("Add", "u x", "u1"), node("Add", "u1 v", "u_out"), node("Identity", "go2", "go2_out")],
                  [info("k", I), info("go2", B), info("u", F, None)], [("go2_out", B), ("u_out", F, None), ("u_out", F, None)])
    body = graph("body", [node("Loop", "two  v", "v_out us", body=inner), node("Identity", "go", "go_out"),
                          node("ReduceSum", "us", "s", keepdims=0)],
                 [info("i", I), info("go", B), info("v", F, None)], [("go_out", B), ("v_out", F, None), ("s", F)])
    return model(graph("g", [node("Loop", "n  x", "y s", body=body)], [info("x", F, 3), info("n", I)], [("y", F, 3), ("s", F, "n")],
                       [("two", scalar(2))]))


# --- scans ---

def scan_axes(opset=17):
    body = graph("body", [node("Add", "s a", "s_out"), node("Mul", "t b", "t1"), node("Add", "t1 one", "t_out"),
                          node("Sub", "s_out t_out", "o"), node("Exp", "b", "p")],
                 [info("s", F, None), info("t", F, None), info("a", F, None), info("b", F, None)],
                 [("s_out", F, None), ("t_out", F, None), ("o", F, None), ("p", F, None)], [("one", scalar(1, np.float32))])
    fields = {"scan_input_axes": [1, 0], "scan_input_directions": [0, 1], "scan_output_axes": [1, 0], "scan_output_directions": [0, 1]}
    if opset > 9:
        fields["scan_input_axes"] = [-1, 0]
        fields["scan_output_axes"] = [-1, 0]
    return model(graph("g", [node("Scan", "s0 t0 x z", "s t o p", body=body, num_scan_inputs=2, **fields)],
                       [info("s0", F, 3), info("t0", F, 3), info("x", F, 3, "n"), info("z", F, "n", 3)],
                       [("s", F, 3), ("t", F, 3), ("o", F, 3, "n"), ("p", F, "n", 3)]), opset)


def scan_9():
    return scan_axes(9)


def scan_8():
    body = graph("body", [node("Add", "s a", "s_out"), node("Mul", "s_out two", "o")],
                 [info("s", F, 2), info("a", F, 2)], [("s_out", F, 2), ("o", F, 2)], [("two", scalar(2, np.float32))])
    return model(graph("g", [node("Scan", "lens s0 x", "s o", body=body, num_scan_inputs=1, directions=[0])],
                       [info("lens", I, 2), info("s0", F, 2, 2), info("x", F, 2, 4, 2)], [("s", F, 2, 2), ("o", F, 2, 4, 2)]), 8)


def random(*shape):
    return np.random.RandomState(7).randn(*shape).astype(np.float32)


def flag(value):
    return scalar(value, np.bool_)


X23 = np.abs(random(2, 3))
CASES = [
    (other_shapes, {"x": X23}, {"x": -X23}, {"x": np.abs(random(5, 3))}),
    (other_ranks, {"x": X23}, {"x": -X23}),
    (product_of_ranks, {"x": X23}, {"x": -X23}, {"x": X23}),
    (squeeze_by_shape, {"x": random(1, 4)}, {"x": random(3, 4)}),
    (nested_ranks, *({"x": X23, "c": flag(c), "d": flag(d)} for c in (True, False) for d in (True, False))),
    (unmatched_ranks, *({"x": random(n, 1), "c": flag(c), "inside": flag(i)} for n, c, i in (
        (3, True, True), (1, False, True), (5, False, True), (4, True, False)))),
    (known, {"x": X23}, {"x": -X23}),
    (lists_in_bodies, *({"x": X23, "n": scalar(n), "c": flag(c)} for n, c in ((3, True), (3, False), (1, True), (5, True)))),
    (rate, {"x": random(1, 1, 64), "sr": scalar(16000)}, {"x": random(1, 1, 64), "sr": scalar(8000)}),
    (while_states, *({"x": random(3), "limit": scalar(n, np.int32)} for n in (0, 1, 4, 9))),
    (for_over_extent, *({"x": random(n, 3)} for n in (4, 1, 30))),
    (carried_unchanged, *({"h0": random(1, 3), "n": scalar(n), "k": np.abs(random(3))} for n in (1, 2, 5))),
    (ranks_in_turn, *({"x": random(6), "n": scalar(n)} for n in (0, 1, 2, 3))),
    (windows, *({"x": random(5), "n": scalar(n)} for n in (1, 3, 4))),
    (without_a_count, {"c": flag(True), "v": scalar(3, np.float32)}, {"c": flag(False), "v": scalar(3, np.float32)},
     {"c": flag(True), "v": scalar(-100, np.float32)}),
    *((functools.partial(counted, form), *({"x": random(n, 2, 8, 8)} for n in (5, 1, 2, 11))) for form in (*COUNTED, "data", "by_two")),
    (functools.partial(counted, "other"), {"x": random(5, 2, 8, 8)}),
    (bounded_branches, *({"x": np.float32([[1, 0, 2], [0, 0, 0]]), "c": flag(c)} for c in (True, False))),
    (bounded_iterations, *({"x": random(3), "n": scalar(n)} for n in (1, 0))),
    (pasted, *({"x": 0.2 * abs(x) - 0.15} for x in (random(1, 1, 5, 5), random(1, 1, 3, 5)))),
    (stacks_of_data, {"x": np.abs(random(6)), "n": scalar(3)}, {"x": -np.abs(random(6)), "n": scalar(2)}),
    (fixed_behind_counted, {"x": random(1, 2, 8, 8)}, {"x": 100 * random(1, 2, 8, 8)}),
    (loop_in_loop, *({"x": random(3), "n": scalar(n)} for n in (3, 0))),
    (scan_axes, *({"s0": random(3), "t0": random(3), "x": random(3, n), "z": random(n, 3)} for n in (5, 1))),
    (scan_9, {"s0": random(3), "t0": random(3), "x": random(3, 4), "z": random(4, 3)}),
    (scan_8, {"lens": i64(4, 2), "s0": random(2, 2), "x": random(2, 4, 2)}, {"lens": i64(1, 3), "s0": random(2, 2), "x": random(2, 4, 2)}),
]


class Checker(ProgramChecks):
    prints_passes = False

    def call(self, *arguments, environment=None):
        return subprocess.run([self.tenon, *arguments], capture_output=True, text=True, timeout=120, cwd=self.folder,
                              env={**os.environ, **(environment or {})})

    def compare(self, name, values, expected, source, *options, environment=None):
        for key, value in values.items():
            np.save(self.path(f"{key}.npy"), value)
        done = self.call("run", source, "--output-dir", ".", *options, *(a for k in values for a in ("--input", f"{k}={k}.npy")),
                         environment=environment)
        if done.returncode != 0:
            return self.report(name, False, f"exit {done.returncode}: {done.stderr.strip()}")
        for key, value in expected.items():
            found, value = np.load(self.path(f"{key}.npy")), np.asarray(value)
            if found.shape != value.shape or not np.allclose(found, value, rtol=1e-4, atol=1e-5, equal_nan=True):
                return self.report(name, False, f"output {key}: {found.tolist()}, expected {value.tolist()}")
        return self.report(name, True)

    def network(self, name, whole, cases):
        onnx.save(whole, self.path("m.onnx"))
        session = onnxruntime.InferenceSession(whole.SerializeToString(), providers=["CPUExecutionProvider"])
        built = self.call("build", "m.onnx", "-o", "m.plan")
        if not self.report(f"{name}, built", built.returncode == 0, built.stderr):
            return
        for number, values in enumerate(cases):
            outputs = [o.name for o in session.get_outputs()]
            expected = dict(zip(outputs, session.run(outputs, values)))
            self.compare(f"{name} {number}", values, expected, "m.plan")
            self.compare(f"{name} {number}, on the fly", values, expected, "m.onnx")
            self.compare(f"{name} {number}, guarded", values, expected, "m.plan", "--checked")
            self.compare(f"{name} {number}, by references", values, expected, "m.onnx", environment={"TENON_FORCE_KERNEL": FORCED})

    def guessed_ranks(self):
        onnx.save(product_of_ranks(), self.path("m.onnx"))
        self.call("build", "m.onnx", "-o", "m.plan", "--no-timing")
        found = [line.split()[2] for line in self.call("inspect", "m.plan").stdout.splitlines() if line.split()[1:2] in (["MatMul"], ["Relu"])]
        self.report("kernels behind branches of two ranks", sum("/" in kernel for kernel in found) == 2 and "reference" not in found, str(found))

    def exact(self):
        """What comes behind a loop whose shapes are known has kernels for these shapes."""
        onnx.save(fixed_behind_counted(), self.path("m.onnx"))
        done = self.call("build", "m.onnx", "-o", "m.plan", "-v")
        self.report("a convolution behind a loop", done.returncode == 0 and "reference" not in done.stdout, done.stdout + done.stderr)

        for form in (*COUNTED, "data"):
            onnx.save(counted(form, (5, 2, 8, 8)), self.path("m.onnx"))
            done = self.call("build", "m.onnx", "-o", "m.plan", "--report", "m.json")
            with open(self.path("m.json")) as file:
                found = [n["outputs"][3]["shape"] for n in json.load(file)["nodes"] if n["op"] == "Loop"]
            expected = None if form == "data" else [6 if form in ("before", "or_equal") else 5, 2, 8, 8]
            self.report(f"what a counted loop stacks, {form}", found == [expected], f"{found} {done.stderr}")

    def inlined(self):
        """A branch that is chosen by constants is built as the nodes around it."""
        onnx.save(known(), self.path("m.onnx"))
        done = self.call("build", "m.onnx", "-o", "m.plan", "--report", "m.json")
        with open(self.path("m.json")) as file:
            self.report("a branch that is known", done.returncode == 0 and '"op": "If"' not in file.read(), done.stderr)

    def unchanged(self):
        """What a loop returns as it came is no state: its body reads it where it is, constants among them. Where the body has its name
        for another tensor it is one."""
        values = {"h0": random(1, 3), "n": scalar(3), "k": np.abs(random(3))}
        session = onnxruntime.InferenceSession(carried_unchanged().SerializeToString(), providers=["CPUExecutionProvider"])
        names = [o.name for o in session.get_outputs()]
        for inner, states in (("u", 1), ("t", 2)):
            onnx.save(carried_unchanged(inner), self.path("m.onnx"))
            done = self.call("build", "m.onnx", "-o", "m.plan", "--report", "m.json")
            with open(self.path("m.json")) as file:
                loops = [n for n in json.load(file)["nodes"] if n["op"] == "Loop"]
            captured = 2 - states  # t
            self.report("states that do not change", done.returncode == 0 and len(loops) == 1 and
                        len(loops[0]["inputs"]) == 2 + states + captured and len(loops[0]["outputs"]) == states + 1,
                        f"{loops} {done.stderr}")
            self.compare(f"states that do not change, {inner}", values, dict(zip(names, session.run(names, values))), "m.plan")

    def refused(self, name, whole, *says, code=1):
        onnx.save(whole, self.path("m.onnx"))
        done = self.call("build", "m.onnx", "-o", "refused.plan")
        missing = [text for text in says if text not in done.stderr]
        self.report(name, done.returncode == code and not missing, f"exit {done.returncode}: {done.stderr.strip()}")

    def refused_run(self, name, whole, values, *says):
        onnx.save(whole, self.path("m.onnx"))
        for key, value in values.items():
            np.save(self.path(f"{key}.npy"), value)
        done = self.call("run", "m.onnx", *(a for k in values for a in ("--input", f"{k}={k}.npy")))
        missing = [text for text in says if text not in done.stderr]
        self.report(name, done.returncode == 1 and not missing, f"exit {done.returncode}: {done.stderr.strip()}")

    def hostile_branches(self):
        def broken(then_nodes, else_nodes=None, kind=F, output="t"):
            one = node("If", "c", "y", then_branch=graph("then", then_nodes, [], [(output, kind, None)]),
                       else_branch=graph("else", else_nodes or [node("Neg", "x", "e")], [], [("e", F, None)]))
            return model(graph("g", [one], [info("x", F, 4), info("c", B)], [("y", F, 4)]))
        self.refused("a branch reads what no graph has", broken([node("Add", "x nowhere", "t")]), "'nowhere'")
        self.refused("a cycle in a branch", broken([node("Add", "x b", "a"), node("Add", "a x", "b"), node("Neg", "b", "t")]), "cycle")
        self.refused("a result that no node computes", broken([node("Neg", "x", "other")]), "'t'")
        self.refused("branches of other types", broken([node("Cast", "x", "t", to=I)], kind=I), "If_y", "i64 in then_branch", "f32 in else_branch")
        self.refused("branches of other types behind what only a run knows", unmatched_ranks(I), "If_r", "f32 in then_branch", "i64 in else_branch")
        fewer = broken([node("Neg", "x", "t")])
        del fewer.graph.node[0].attribute[0].g.output[:]
        self.refused("a branch without results", fewer, "If_y", "0 results")
        missing = broken([node("Neg", "x", "t")])
        del missing.graph.node[0].attribute[1:]
        self.refused("a branch that is missing", missing, "then_branch")
        wide = model(graph("g", [branches("c", [node("Neg", "x", "t")], [node("Neg", "x", "e")])],
                           [info("x", F, 4), info("c", B, 2)], [("y", F, 4)]))
        self.refused("two conditions", wide, "'cond'", "one element")
        inner = node("Neg", "x", "t")
        for _ in range(20):
            inner = branches("c", [inner], [node("Neg", "x", "e")], output="t")
        self.refused("branches in branches", model(graph("g", [inner], [info("x", F, 4), info("c", B)], [("t", F, 4)])), "deep")

    def hostile_loops(self):
        def broken(body_nodes, inputs, outputs, given="n  x", made="y"):
            body = graph("body", body_nodes, inputs, outputs)
            return model(graph("g", [node("Loop", given, made, body=body)], [info("x", F, 4), info("n", I)], [(made.split()[0], F, 4)]))
        ports = [info("i", I), info("go", B), info("v", F, None)]
        keep = node("Identity", "go", "go_out")
        self.refused("a loop that carries more than its body", broken([keep, node("Neg", "v", "w")], ports, [("go_out", B), ("w", F, None)],
                                                                      given="n  x x"), "Loop_y", "body 'body' has 3 inputs", "2 tensors are carried")
        self.refused("another type", broken([keep, node("Cast", "v", "w", to=I)], ports, [("go_out", B), ("w", I, None)]), "Loop_y", "i64", "f32")
        self.refused("a condition of floats", broken([node("Neg", "v", "w")], ports, [("w", F, None), ("w", F, None)]), "condition", "bool")
        self.refused("more outputs than the body has", broken([keep, node("Neg", "v", "w")], ports, [("go_out", B), ("w", F, None)],
                                                              made="y z"), "2 outputs")
        deepest = [keep, node("Concat", "v v", "w", axis=0)]
        for depth in range(12):
            inner = graph(f"body{depth}", deepest, ports, [("go_out", B), ("w", F, None)])
            deepest = [keep, node("Loop", "n  v", "w", body=inner)]
        whole = broken(deepest, ports, [("go_out", B), ("w", F, None)])
        self.refused("loops in loops that all grow", whole, "nesting is too deep", code=3)
        endless = model(graph("g", [node("Loop", "  v", "n", body=graph("body", [node("Identity", "go", "go_out"), node("Identity", "w", "w_out")], [
            info("i", I), info("go", B), info("w", I, 1)], [("go_out", B), ("w_out", I, 1)])), node("Reshape", "x n", "y")],
            [info("x", F, 4)], [("y", F, None)], [("v", i64(4))]))
        self.refused("a loop without an end decides a shape", endless, "Loop_n", "a loop too long", code=3)
        changing = broken([keep, node("Range", "zero i one", "w")], [info("i", I), info("go", B)], [("go_out", B), ("w", I, None)],
                          given="n ", made="y")
        changing.graph.initializer.extend(numpy_helper.from_array(scalar(v), n) for n, v in (("zero", 0), ("one", 1)))
        changing.graph.output[0].type.tensor_type.elem_type = I
        self.refused_run("slices that differ", changing, {"x": random(4), "n": scalar(3)}, "Loop_y", "iteration")

    def hostile_scans(self):
        def broken(**fields):
            body = graph("body", [node("Add", "s a", "s_out"), node("Neg", "a", "o")], [info("s", F, None), info("a", F, None)],
                         [("s_out", F, None), ("o", F, None)])
            whole = {"num_scan_inputs": 1, **fields}
            return model(graph("g", [node("Scan", "s0 x", "s o", body=body, **whole)], [info("s0", F, 3), info("x", F, 5, 3)],
                               [("s", F, 3), ("o", F, 5, 3)]))
        self.refused("more scanned inputs than there are", broken(num_scan_inputs=3), "Scan_s", "num_scan_inputs")
        self.refused("an axis that is not there", broken(scan_input_axes=[2]), "scan_input_axes")
        self.refused("too many directions", broken(scan_output_directions=[0, 1]), "scan_output_directions has 2 numbers")
        self.refused("a direction of 2", broken(scan_input_directions=[2]), "scan_input_directions")
        self.refused("slices that the state does not take", broken(scan_input_axes=[1]), "Scan_s")

    def hostile_data(self):
        """What shapes and types allow, and the data of a run do not."""
        def kept(nodes, inputs, *outputs, constants=()):
            return model(graph("g", nodes, [*inputs, info("mask", B, 3)], [(name, kind, None) for name, kind in outputs], constants))
        x, c = info("x", F, 3), info("c", B, 3)
        some = {"x": random(3), "mask": np.array([True, True, False])}
        then, other = graph("then", [node("Neg", "x", "t")], [], [("t", F, None)]), graph("else", [node("Abs", "x", "e")], [], [("e", F, None)])
        counted = [node("Compress", "c mask", "d"), node("If", "d", "y", then_branch=then, else_branch=other)]
        self.refused_run("two conditions counted in a run", kept(counted, [x, c], ("y", F)), {**some, "c": np.ones(3, bool)}, "If_y", "'cond'",
                         "one element")
        ports, keep = [info("i", I), info("go", B), info("v", F, None)], node("Identity", "go", "go_out")
        body = graph("body", [keep, node("Neg", "v", "w")], ports, [("go_out", B), ("w", F, None)])
        counted = [node("Compress", "c mask", "d"), node("Loop", " d x", "y", body=body)]
        self.refused_run("two conditions of a loop", kept(counted, [x, c], ("y", F)), {**some, "c": np.zeros(3, bool)}, "Loop_y", "'cond'",
                         "one element")
        counted = [node("Compress", "n3 mask", "n"), node("Loop", "n  x", "y", body=body)]
        self.refused_run("two counts of a loop", kept(counted, [x, info("n3", I, 3)], ("y", F)), {**some, "n3": np.ones(3, np.int64)}, "Loop_y",
                         "'M'", "one element")
        body = graph("body", [keep, node("Gather", "x i", "a"), node("Add", "v a", "w")], ports, [("go_out", B), ("w", F, None)])
        later = kept([node("Loop", "n  zero", "y", body=body)], [x, info("n", I)], ("y", F), constants=[("zero", np.float32(0))])
        self.refused_run("an index that a later iteration takes too far", later, {**some, "n": scalar(4)}, "Loop_y", "body 'body'", "Gather_a", "3")
        body = graph("body", [keep, node("Concat", "v v", "w", axis=0)], ports, [("go_out", B), ("w", F, None), ("w", F, None)])
        grows = kept([node("Loop", "n  x", "y z", body=body)], [x, info("n", I)], ("y", F), ("z", F))
        self.refused_run("slices that grow", grows, {**some, "n": scalar(3)}, "Loop_y", "iteration")
        body = graph("body", [keep, node("SequenceAt", "list i", "a"), node("Add", "v a", "w")], ports, [("go_out", B), ("w", F, None)])
        listed = kept([node("SequenceConstruct", "x x", "list"), node("Loop", "n  x", "y", body=body)], [x, info("n", I)], ("y", F))
        self.refused_run("a list's item that is not there", listed, {**some, "n": scalar(3)}, "Loop_y", "SequenceAt_a", "position 2 in a list of 2")
        body = graph("body", [node("Add", "s a", "s_out"), node("Mul", "a b", "o")], [info("s", F), info("a", F), info("b", F)],
                     [("s_out", F), ("o", F)])
        scanned = [node("Compress", "x mask", "d"), node("Scan", "zero x d", "s y", body=body, num_scan_inputs=2)]
        self.refused_run("scanned inputs of other lengths", kept(scanned, [x], ("s", F), ("y", F), constants=[("zero", np.float32(0))]), some, "Scan_s",
                         "2", "3")
        body = graph("body", [node("Concat", "s s", "s_out", axis=0), node("Neg", "a", "o")], [info("s", F, None), info("a", F)],
                     [("s_out", F, None), ("o", F)])
        scanned = [node("Compress", "x mask", "d"), node("Scan", "d x", "s y", body=body, num_scan_inputs=1)]
        self.refused_run("a state that grows", kept(scanned, [x], ("s", F), ("y", F)), some, "Scan_s", "state 0 has another shape")
        then = graph("then", [node("Reshape", "x n", "t")], [], [("t", F, None)])
        chosen = kept([node("If", "go", "y", then_branch=then, else_branch=other)], [x, info("n", I, 2), info("go", B)], ("y", F))
        self.refused_run("a shape that is wrong in a branch", chosen, {**some, "n": i64(-5, 3), "go": flag(True)}, "Reshape_t", "-5")


def main():
    with tempfile.TemporaryDirectory(prefix="tenon-control.") as folder:
        checker = Checker(os.path.abspath(sys.argv[1]), folder)
        for make, *cases in CASES:
            checker.network(getattr(make, "__name__", f"counted, {make.args[0]}" if hasattr(make, "args") else ""), make(), cases)
        for name, make in check_bodies.NETWORKS.items():
            conditions = (True,) if name == "conditional_loop" else (True, False)  # onnxruntime stacks nothing in another shape
            checker.network(f"bodies, {name}", make(), [check_bodies.values_of(make(), c) for c in conditions])
        checker.guessed_ranks()
        checker.exact()
        checker.inlined()
        checker.unchanged()
        checker.hostile_branches()
        checker.hostile_loops()
        checker.hostile_scans()
        checker.hostile_data()
    return checker.end()


if __name__ == "__main__":
    sys.exit(main())
