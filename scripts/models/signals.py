# SPDX-License-Identifier: Apache-2.0
"""Networks of recurrent layers and a spectrogram's front end, with random weights, as bytes of ONNX: what
scripts/check_signals.py compares with onnxruntime and bench/operators.py times.

`python3 scripts/models/signals.py FOLDER` writes them all."""

import os
import sys

import numpy as np
from onnx import TensorProto, helper, numpy_helper

OPSET, IR_VERSION = 20, 10
GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}


def model_of(nodes, inputs, outputs, constants, opset=OPSET):
    """Inputs and outputs: names with their shapes, of floats unless an element type follows."""
    def ports(items):
        return [helper.make_tensor_value_info(name, kind[0] if kind else TensorProto.FLOAT, shape) for name, shape, *kind in items]
    graph = helper.make_graph(nodes, "sequences", ports(inputs), ports(outputs),
                              [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=IR_VERSION)


def weights_of(rng, kind, depth, hidden, directions):
    rows = GATES[kind] * hidden
    return [rng.uniform(-1, 1, shape).astype(np.float32) / np.float32(np.sqrt(hidden))
            for shape in ((directions, rows, depth), (directions, rows, hidden), (directions, 2 * rows))]


def recurrent(kind, depth=64, hidden=128, directions=1, lengths=False, state=False, layout=0, peepholes=False, seed=1, outputs=None,
              steps=None, batch=None, opset=OPSET, **fields):
    """One layer: X (and lengths, h, c), Y, Y_h (and Y_c). Batch and steps may vary unless they are given."""
    rng = np.random.default_rng(seed)
    names = {"W": None, "R": None, "B": None}
    constants = dict(zip(names, weights_of(rng, kind, depth, hidden, directions)))
    batch, steps = batch or "batch", steps or "steps"
    inputs = [("X", [batch, steps, depth] if layout else [steps, batch, depth])]
    state_shape = [batch, directions, hidden] if layout else [directions, batch, hidden]
    ports = ["X", "W", "R", "B", "", "", "", ""]
    if lengths:
        inputs.append(("lengths", [batch], TensorProto.INT32))
        ports[4] = "lengths"
    if state:
        inputs.append(("h", state_shape))
        ports[5] = "h"
    if state and kind == "LSTM":
        inputs.append(("c", state_shape))
        ports[6] = "c"
    if peepholes:
        constants["P"] = rng.uniform(-1, 1, (directions, 3 * hidden)).astype(np.float32)
        ports[7] = "P"
    while not ports[-1]:
        ports.pop()
    wanted = outputs or (["Y", "Y_h", "Y_c"] if kind == "LSTM" else ["Y", "Y_h"])
    written = [name if name in wanted else "" for name in (["Y", "Y_h", "Y_c"] if kind == "LSTM" else ["Y", "Y_h"])]
    if layout:
        fields["layout"] = layout
    node = helper.make_node(kind, ports, written, name="layer", hidden_size=hidden,
                            direction=fields.pop("direction", "bidirectional" if directions == 2 else "forward"), **fields)
    y_shape = [batch, steps, directions, hidden] if layout else [steps, directions, batch, hidden]
    return model_of([node], inputs, [(name, y_shape if name == "Y" else state_shape) for name in wanted], constants, opset)


def tagger(depth=40, hidden=64, classes=9):
    """Two layers in both directions, an LSTM and a GRU, and a linear layer at each step, as taggers and recognisers have."""
    rng = np.random.default_rng(2)
    constants, nodes, last, width = {}, [], "X", depth
    for kind in ("LSTM", "GRU"):
        constants.update(zip((f"W_{kind}", f"R_{kind}", f"B_{kind}"), weights_of(rng, kind, width, hidden, 2)))
        nodes += [helper.make_node(kind, [last, f"W_{kind}", f"R_{kind}", f"B_{kind}"], [f"Y_{kind}"], name=kind, hidden_size=hidden,
                                   direction="bidirectional"),
                  helper.make_node("Transpose", [f"Y_{kind}"], [f"t_{kind}"], perm=[0, 2, 1, 3]),
                  helper.make_node("Reshape", [f"t_{kind}", "joined"], [f"states_{kind}"])]
        last, width = f"states_{kind}", 2 * hidden
    constants["joined"] = np.array([0, 0, 2 * hidden], np.int64)
    constants["matrix"] = rng.uniform(-1, 1, (2 * hidden, classes)).astype(np.float32) / np.float32(np.sqrt(2 * hidden))
    nodes += [helper.make_node("MatMul", [last, "matrix"], ["scores"]), helper.make_node("Softmax", ["scores"], ["probabilities"], axis=-1)]
    return model_of(nodes, [("X", ["steps", "batch", depth])], [("probabilities", ["steps", "batch", classes])], constants)


def front_end(rate=16000, length=400, step=160, bands=80):
    """A signal's log mel spectrogram: frames, window, power, bands, logarithm."""
    constants = {"step": np.int64(step), "length": np.int64(length), "bands": np.int64(bands), "rate": np.int64(rate),
                 "low": np.float32(20), "high": np.float32(rate / 2 - 400), "last": np.array([-1], np.int64),
                 "floor": np.float32(1e-6)}
    nodes = [helper.make_node("HannWindow", ["length"], ["window"]),
             helper.make_node("Unsqueeze", ["signal", "last"], ["samples"]),
             helper.make_node("STFT", ["samples", "step", "window", "length"], ["spectrum"], onesided=1),
             helper.make_node("ReduceSumSquare", ["spectrum", "last"], ["power"], keepdims=0),
             helper.make_node("MelWeightMatrix", ["bands", "length", "rate", "low", "high"], ["weights"]),
             helper.make_node("MatMul", ["power", "weights"], ["energies"]),
             helper.make_node("Max", ["energies", "floor"], ["audible"]),
             helper.make_node("Log", ["audible"], ["features"])]
    return model_of(nodes, [("signal", ["batch", "samples"])], [("features", ["batch", "frames", bands])], constants)


def transform(axis=1, length=None, opset=OPSET, rank=3, parts=1, extents=None, kind=TensorProto.FLOAT, **fields):
    """One DFT along an axis."""
    shape = extents or [f"e{i}" for i in range(rank - 1)] + [parts]
    constants, ports = {}, ["x"]
    if length:
        constants["length"] = np.int64(length)
    ports.append("length" if length else "")
    if opset >= 20:
        constants["axis"] = np.int64(axis)
        ports.append("axis")
    else:
        fields["axis"] = axis
    node = helper.make_node("DFT", ports, ["y"], name="transform", **fields)
    return model_of([node], [("x", shape, kind)], [("y", [None] * rank, kind)], constants, opset)


# What is compared. Not an LSTM with clip: onnxruntime does not clip the argument of its last activation, as the standard has it.
# onnxruntime transforms lengths that are no power of two by their definition, in 32-bit floats, which the
# logarithm of a quiet band shows.
NETWORKS = {
    "lstm": lambda: recurrent("LSTM"),
    "lstm_both_lengths": lambda: recurrent("LSTM", directions=2, lengths=True, state=True, hidden=70),
    "lstm_reverse_peepholes": lambda: recurrent("LSTM", direction="reverse", peepholes=True, hidden=33, lengths=True),
    "lstm_last_state": lambda: recurrent("LSTM", outputs=["Y_h"], hidden=50),
    "lstm_functions": lambda: recurrent("LSTM", hidden=20, activations=["HardSigmoid", "ScaledTanh", "Softsign"],
                                        activation_alpha=[0.3, 1.2], activation_beta=[0.4, 0.8]),
    "lstm_forget": lambda: recurrent("LSTM", hidden=20, input_forget=1),
    "lstm_opset_7": lambda: recurrent("LSTM", hidden=20, opset=7, state=True),
    "gru": lambda: recurrent("GRU"),
    "gru_both_lengths": lambda: recurrent("GRU", directions=2, lengths=True, state=True, hidden=70),
    "gru_linear": lambda: recurrent("GRU", directions=2, linear_before_reset=1, lengths=True, hidden=70),
    "gru_clip": lambda: recurrent("GRU", hidden=20, clip=0.3),
    "rnn": lambda: recurrent("RNN"),
    "rnn_both_lengths": lambda: recurrent("RNN", directions=2, lengths=True, hidden=70, activations=["Relu", "Tanh"]),
    "tagger": tagger,
    "front_end": lambda: front_end(length=512),
    "transform": lambda: transform(parts=2),
    "transform_real": lambda: transform(onesided=1),
    "transform_prime": lambda: transform(length=101, onesided=1),
    "transform_inverse": lambda: transform(axis=0, parts=2, inverse=1, opset=17),
}


def main():
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    os.makedirs(sys.argv[1], exist_ok=True)
    for name, make in NETWORKS.items():
        with open(os.path.join(sys.argv[1], f"{name}.onnx"), "wb") as file:
            file.write(make().SerializeToString())
    return 0


if __name__ == "__main__":
    sys.exit(main())
