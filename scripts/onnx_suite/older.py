# SPDX-License-Identifier: Apache-2.0
"""Runs cases of older opsets: older.py TENON OUTDIR FOLDER..., where each folder holds node cases that export.py wrote.

A node case is run again with each older opset whose version of the operator takes the same node, by ONNX's schemas:
names and types of attributes, number and types of inputs. What changed between versions is in cases written here.
"""

import os
import shutil
import subprocess
import sys

import numpy as np
import onnx
from onnx import TensorProto, defs, helper, numpy_helper

ONNX_DOMAINS = ("", "ai.onnx")
BROADCAST = "Add Sub Mul Div Pow And Or Xor Equal Greater Less PRelu Gemm".split()

# The versions before which the same node means something else: broadcasting as NumPy does, one axis in place of all that
# follow, a scale for each index of an axis.
CHANGED = {(name, 7) for name in BROADCAST} | {(name, 13) for name in ("Softmax", "LogSoftmax", "Hardmax")} | {
    (name, 13) for name in ("QuantizeLinear", "DequantizeLinear")}
# Values of attributes that came with a version.
NEW_VALUES = {("Pad", 19): {b"wrap"}, ("ScatterElements", 18): {b"max", b"min"}, ("ScatterND", 18): {b"max", b"min"},
              ("GridSample", 20): {b"linear", b"cubic"}}
TYPES = {getattr(TensorProto, t.upper()): t for t in "float uint8 int8 uint16 int16 int32 int64 string bool float16 double "
         "uint32 uint64 bfloat16".split()}


def schemas():
    """By name and version."""
    found = {}
    for schema in defs.get_all_schemas_with_history():
        if schema.domain == "":
            found.setdefault(schema.name, {})[schema.since_version] = schema
    return found


def is_node_of(node, schema, inputs):
    """`inputs`: the types by name; None where they are not known, in a body."""
    if schema.deprecated or not schema.min_input <= len(node.input) <= schema.max_input:
        return False
    if not schema.min_output <= len(node.output) <= schema.max_output:
        return False
    given = {attribute.name: attribute.type for attribute in node.attribute}
    if any(name not in schema.attributes or int(schema.attributes[name].type.value) != kind for name, kind in given.items()):
        return False
    if any(attribute.required and name not in given for name, attribute in schema.attributes.items()):
        return False
    if inputs is None:
        return True
    allowed = {c.type_param_str: set(c.allowed_type_strs) for c in schema.type_constraints}
    for index, name in enumerate(node.input):
        port = schema.inputs[min(index, len(schema.inputs) - 1)]
        if name and inputs.get(name) not in allowed.get(port.type_str, {port.type_str}):
            return False
    return True


def are_bodies_of(node, own, version, known):
    """Whether the nodes of a node's bodies mean the same in an older opset."""
    for body in (attribute.g for attribute in node.attribute if attribute.type == onnx.AttributeProto.GRAPH):
        for inner in body.node:
            versions = [max((v for v in known[inner.op_type] if v <= opset), default=None) for opset in (own, version)]
            if None in versions or not is_node_of(inner, known[inner.op_type][versions[1]], None):
                return False
            if any(name == inner.op_type and versions[1] < changed <= versions[0] for name, changed in CHANGED):
                return False
            if not are_bodies_of(inner, own, version, known):
                return False
    return True


def older_versions(node, opset, schemas_of, inputs):
    """From the newest on, as long as the node means the same."""
    known = schemas_of[node.op_type]
    versions = sorted(known)
    own = max(v for v in versions if v <= opset)
    after = own
    for version in reversed([v for v in versions if v < own]):
        values = NEW_VALUES.get((node.op_type, after), set())
        if (node.op_type, after) in CHANGED or any(a.s in values for a in node.attribute):
            return
        if is_node_of(node, known[version], inputs) and are_bodies_of(node, opset, version, schemas_of):
            yield version
        after = version


def write_restamped(folder, output, known):
    model = onnx.load(os.path.join(folder, "model.onnx"))
    nodes = model.graph.node
    if len(nodes) != 1 or model.functions or nodes[0].domain not in ONNX_DOMAINS:
        return
    imports = [o for o in model.opset_import if o.domain in ONNX_DOMAINS]
    inputs = {i.name: f"tensor({TYPES.get(i.type.tensor_type.elem_type)})" for i in model.graph.input}
    for version in older_versions(nodes[0], imports[0].version, known, inputs):
        imports[0].version = version
        to = os.path.join(output, f"{os.path.basename(folder)}_opset{version}")
        os.makedirs(to)
        onnx.save(model, os.path.join(to, "model.onnx"))
        for entry in os.listdir(folder):
            if entry.startswith("test_data_set"):
                os.symlink(os.path.abspath(os.path.join(folder, entry)), os.path.join(to, entry))


def write_case(output, opset, op, inputs, wanted, constants=(), **attributes):
    """A node with its inputs, those numbered in `constants` as initializers, and what comes out."""
    names = [f"x{i}" for i in range(len(inputs))]
    wanted = wanted if isinstance(wanted, list) else [wanted]
    outputs = [f"y{i}" for i in range(len(wanted))]
    info = lambda name, value: helper.make_tensor_value_info(  # noqa: E731
        name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape)
    graph = helper.make_graph([helper.make_node(op, names, outputs, **attributes)], "older",
                              [info(n, v) for i, (n, v) in enumerate(zip(names, inputs)) if i not in constants],
                              [info(n, v) for n, v in zip(outputs, wanted)],
                              [numpy_helper.from_array(inputs[i], names[i]) for i in constants])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=4)
    folder = os.path.join(output, f"changed_{op.lower()}_opset{opset}_{len(os.listdir(output))}")
    data = os.path.join(folder, "test_data_set_0")
    os.makedirs(data)
    onnx.save(model, os.path.join(folder, "model.onnx"))
    fed = [v for i, v in enumerate(inputs) if i not in constants]
    for kind, values in (("input", fed), ("output", wanted)):
        for i, value in enumerate(values):
            with open(os.path.join(data, f"{kind}_{i}.pb"), "wb") as file:
                file.write(numpy_helper.from_array(value).SerializeToString())


def write_changed(output):
    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4) - 11
    image = np.arange(12, dtype=np.float32).reshape(1, 2, 2, 3)
    row = np.array([1, -2, 3, 4], np.float32)
    used = {"consumed_inputs": [0]}
    write_case(output, 1, "Relu", [x], np.maximum(x, 0), **used)
    write_case(output, 5, "Abs", [x], np.abs(x))
    write_case(output, 1, "Add", [x, row], x + row, broadcast=1, consumed_inputs=[0, 0])
    write_case(output, 3, "Mul", [x, x[:, 0, 0]], x * x[:, :1, :1], broadcast=1, axis=0)
    write_case(output, 1, "Sum", [x, x, x], 3 * x)
    write_case(output, 1, "Cast", [x], x.astype(np.int64), to="INT64")
    write_case(output, 5, "Cast", [x], x.astype(np.float16), to="FLOAT16")
    write_case(output, 1, "Concat", [x, x[:, :1]], np.concatenate([x, x[:, :1]], 1))
    write_case(output, 3, "Concat", [x, x], np.concatenate([x, x], 2), axis=2)
    write_case(output, 1, "Pad", [x], np.pad(x, [(0, 1), (2, 0), (0, 0)], constant_values=7), paddings=[0, 2, 0, 1, 0, 0],
               value=7.0)
    write_case(output, 1, "Reshape", [x], x.reshape(6, 4), shape=[6, -1], **used)
    write_case(output, 1, "Selu", [row], 1.0507 * np.where(row < 0, 1.6732 * np.expm1(row), row).astype(np.float32))
    write_case(output, 1, "Split", [x], [x[:, :1], x[:, 1:]], axis=1, split=[1, 2])
    write_case(output, 1, "Split", [x], [x[:1], x[1:]])
    write_case(output, 1, "Split", [x, np.array([1, 3], np.float32)], [x[..., :1], x[..., 1:]], constants=(1,), axis=2)
    write_case(output, 1, "Tile", [x, np.array(2, np.float32), np.array(1, np.float32)], np.tile(x, (1, 2, 1)),
               constants=(1, 2))
    write_case(output, 1, "Upsample", [image], image.repeat(2, 2).repeat(3, 3), height_scale=2.0, width_scale=3.0)
    write_case(output, 7, "Upsample", [image], image.repeat(2, 2).repeat(3, 3), scales=[1.0, 1.0, 2.0, 3.0])
    wide = np.array([[[[0, 1, 2, 2]]]], np.float32)
    write_case(output, 7, "Upsample", [wide[..., :3:2]], wide, mode="linear", scales=[1.0, 1.0, 1.0, 2.0])
    write_case(output, 1, "Upsample", [wide[..., :3:2]], wide, mode="bilinear", height_scale=1.0, width_scale=2.0)
    write_case(output, 9, "Upsample", [image, np.array([1, 1, 2, 1], np.float32)], image.repeat(2, 2), constants=(1,))
    write_case(output, 9, "Scatter", [row, np.array([2, 0], np.int64), np.array([8, 9], np.float32)],
               np.array([9, -2, 8, 4], np.float32))
    scale = np.array([1, 2, 3], np.float32)
    normal = (x - 1) / np.sqrt(4 + 1e-5) * scale[:, None] + scale[:, None]
    write_case(output, 1, "BatchNormalization", [x, scale, scale, np.ones(3, np.float32), np.full(3, 4, np.float32)],
               normal.astype(np.float32), is_test=1, consumed_inputs=[0, 0, 0, 1, 1])
    write_case(output, 1, "Dropout", [x], x, is_test=1, ratio=0.3, **used)
    write_case(output, 1, "LpPool", [image], np.abs(image).reshape(1, 2, 1, 6).sum(3, keepdims=True), kernel_shape=[2, 3],
               p=1.0)
    write_case(output, 1, "GlobalLpPool", [image], np.sqrt((image ** 2).sum((2, 3), keepdims=True)), p=2.0)
    write_case(output, 1, "Softmax", [x[:, :1, :1] * 0], np.ones((2, 1, 1), np.float32))
    write_case(output, 27, "Range", [np.array(1, np.float32), np.array(4, np.float32), np.array(1.5, np.float32)],
               np.array([1, 2.5], np.float32), constants=(0, 1, 2), stash_type=1)


def main():
    tenon, output, folders = sys.argv[1], sys.argv[2], sys.argv[3:]
    known = schemas()
    shutil.rmtree(output, ignore_errors=True)
    os.makedirs(output)
    write_changed(output)
    for folder in folders:
        for case in sorted(os.listdir(folder)):
            if os.path.exists(os.path.join(folder, case, "model.onnx")):
                write_restamped(os.path.join(folder, case), output, known)
    done = subprocess.run([tenon, "test", output], stdout=subprocess.PIPE, text=True, check=False)
    lines = done.stdout.splitlines()
    missing = [line for line in lines if line.startswith("UNSUPPORTED") and ": no operator '" in line]
    bad = [line for line in lines[:-1] if not line.startswith("PASS") and line not in missing]
    print("\n".join(bad + lines[-1:]))
    if bad or sum(line.startswith("PASS") for line in lines) < len(os.listdir(output)) / 2:
        sys.exit(1)


if __name__ == "__main__":
    main()
