# SPDX-License-Identifier: Apache-2.0
"""The examples that are plugin libraries: each passes `tenon plugin check`, is as short as it says, and gives in a network what
another implementation gives.

Usage: check_example_plugins.py TENON FOLDER, the installed program and where scripts/run-tests built copies of examples/ (a
library lies in FOLDER/NAME/build). Needs NumPy, onnx and onnxruntime. The other implementation is onnxruntime's operator of
ONNX where that has one, otherwise NumPy.
"""

import os
import re
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper

from checks import ProgramChecks

EXAMPLES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples")
MOST_LINES = {"dynamic_resize": 89, "kernel_kit": 212}  # of the others: 149
TYPES = {"float32": TensorProto.FLOAT, "int64": TensorProto.INT64}


class Checks(ProgramChecks):
    def __init__(self, tenon, folder, libraries):
        super().__init__(tenon, folder)
        self.libraries = libraries

    def run(self, *arguments):
        return subprocess.run([self.tenon, *arguments], capture_output=True, text=True, timeout=300, cwd=self.folder)

    def library(self, name):
        return os.path.join(self.libraries, name, "build", f"lib{name}.so")


def network(domain, version, name, inputs, output_type, rank, fields):
    """A network of one node; an input that is None is absent."""
    given = {f"in{i}": value for i, value in enumerate(inputs) if value is not None}
    node = helper.make_node(name, [f"in{i}" if value is not None else "" for i, value in enumerate(inputs)], ["out"],
                            domain=domain, **fields)
    graph = helper.make_graph(
        [node], "one", [helper.make_tensor_value_info(key, TYPES[str(value.dtype)], value.shape)
                        for key, value in given.items()],
        [helper.make_tensor_value_info("out", output_type, [f"d{i}" for i in range(rank)])])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid(domain, version)] +
                              ([helper.make_opsetid("", 17)] if domain else []), ir_version=8)
    return model, given


def ours(checks, example, domain, name, inputs, output_type, rank, fields):
    """What the plugin gives for a node, or None after it was said why it gives nothing."""
    model, given = network(domain, 1, name, inputs, output_type, rank, fields)
    onnx.save(model, os.path.join(checks.folder, "one.onnx"))
    arguments = []
    for key, value in given.items():
        np.save(os.path.join(checks.folder, key + ".npy"), value)
        arguments += ["--input", f"{key}={key}.npy"]
    done = checks.run("run", "one.onnx", "--plugin", checks.library(example), *arguments, "--output", "out=out.npy",
                      "--no-timing", "--threads", "2")
    if done.returncode:
        checks.say(False, f"{example} {fields}: exit {done.returncode}, {done.stderr.strip()}")
        return None
    return np.load(os.path.join(checks.folder, "out.npy"))


def theirs(version, name, inputs, output_type, rank, fields):
    model, given = network("", version, name, inputs, output_type, rank, fields)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, given)[0]


def compare(checks, text, found, expected, tolerance=2e-5):
    if found is None:
        return
    if found.shape != expected.shape or found.dtype != expected.dtype:
        checks.say(False, f"{text}: {found.dtype}{found.shape}, expected {expected.dtype}{expected.shape}")
        return
    difference = float(np.abs(found.astype(np.float64) - expected).max(initial=0))
    checks.say(difference <= tolerance * max(1, float(np.abs(expected).max(initial=0))),
               f"{text}: largest difference {difference:.1e} in {list(found.shape)}")


def check_grid_sample(checks, numbers):
    image = numbers.standard_normal((2, 3, 7, 9)).astype(np.float32)
    grid = numbers.uniform(-1.6, 1.6, (2, 5, 6, 2)).astype(np.float32)
    for mode, mode_name in enumerate(("bilinear", "nearest", "bicubic")):
        for padding, padding_name in enumerate(("zeros", "border", "reflection")):
            for corners in (0, 1):
                found = ours(checks, "grid_sample", "mmcv", "grid_sampler", [image, grid], TensorProto.FLOAT, 4,
                             {"interpolation_mode": mode, "padding_mode": padding, "align_corners": corners})
                expected = theirs(16, "GridSample", [image, grid], TensorProto.FLOAT, 4,
                                  {"mode": mode_name, "padding_mode": padding_name, "align_corners": corners})
                compare(checks, f"grid_sample {mode_name} {padding_name} {corners}", found, expected)
    model, _ = network("mmcv", 1, "grid_sampler", [image, grid[:, :, :, :1]], TensorProto.FLOAT, 4, {})
    onnx.save(model, os.path.join(checks.folder, "one.onnx"))
    done = checks.run("build", "one.onnx", "--plugin", checks.library("grid_sample"), "-o", "one.plan")
    checks.say(done.returncode == 1 and "input 'grid' is [2,5,6,1], expected [2,?,?,2]" in done.stderr,
               f"grid_sample of a grid of one number: exit {done.returncode}, {done.stderr.strip()}")


def check_deformable_convolution(checks, numbers):
    for groups, parts, stride, padding, dilation, with_mask, with_bias in (
            (1, 1, 1, 1, 1, True, True), (2, 1, 2, 0, 1, True, False), (1, 2, 1, 2, 2, False, True), (2, 4, 2, 1, 1, True, True)):
        image, weight, bias = (numbers.standard_normal(shape).astype(np.float32)
                               for shape in ((2, 8, 11, 10), (6, 8 // groups, 3, 2), (6,)))
        height = (11 + 2 * padding - 2 * dilation - 1) // stride + 1
        width = (10 + 2 * padding - dilation - 1) // stride + 1
        offset = numbers.uniform(-3, 3, (2, parts * 12, height, width)).astype(np.float32)
        mask = numbers.uniform(0, 1, (2, parts * 6, height, width)).astype(np.float32) if with_mask else None
        inputs = [image, offset, mask, weight] + ([bias] if with_bias else [])
        found = ours(checks, "deformable_convolution", "mmcv", "MMCVModulatedDeformConv2d", inputs, TensorProto.FLOAT, 4,
                     {"stride": [stride] * 2, "padding": [padding] * 2, "dilation": [dilation] * 2, "groups": groups,
                      "deform_groups": parts})
        expected = theirs(19, "DeformConv", [image, weight, offset, bias if with_bias else None, mask], TensorProto.FLOAT, 4,
                          {"strides": [stride] * 2, "pads": [padding] * 4, "dilations": [dilation] * 2, "group": groups,
                           "offset_group": parts})
        compare(checks, f"deformable_convolution groups {groups} {parts}", found, expected)


def check_dynamic_resize(checks, numbers):
    image = numbers.standard_normal((2, 3, 11, 14)).astype(np.float32)
    for corners, transformation in ((0, "half_pixel"), (1, "align_corners")):
        for height, width in ((22, 28), (7, 31), (1, 1)):
            found = ours(checks, "dynamic_resize", "Test", "DynamicTRTResize",
                         [image, np.zeros((1, 1, height, width), np.float32)], TensorProto.FLOAT, 4, {"align_corners": corners})
            expected = theirs(13, "Resize", [image, None, None, np.array([2, 3, height, width], np.int64)], TensorProto.FLOAT,
                              4, {"mode": "cubic", "coordinate_transformation_mode": transformation})
            compare(checks, f"dynamic_resize {transformation} {height}x{width}", found, expected)


def check_nms(checks, numbers):
    for count, threshold, offset in ((1, 0.5, 0), (400, 0.5, 0), (400, 0.1, 0), (300, 0.3, 1), (6000, 0.7, 0)):
        corners = numbers.uniform(0, 100, (count, 2))
        boxes = np.concatenate([corners, corners + numbers.uniform(1, 40, (count, 2))], 1).astype(np.float32)
        scores = numbers.permutation(count).astype(np.float32) / count
        found = ours(checks, "nms", "mmcv", "NonMaxSuppression", [boxes, scores], TensorProto.INT64, 1,
                     {"iou_threshold": threshold, "offset": offset})
        reaching = boxes + np.array([0, 0, offset, offset], np.float32)
        expected = theirs(10, "NonMaxSuppression", [reaching[None], scores[None, None], np.array([count], np.int64),
                                                    np.array([threshold], np.float32)], TensorProto.INT64, 2, {})
        compare(checks, f"nms of {count} above {threshold}", found, expected[:, 2], 0)


def largest_samples(image, regions, cells, ratio):
    """The largest of the samples of each cell, straight from the definition."""
    result = np.zeros((len(regions), image.shape[1], cells, cells))
    shares = (np.arange(cells * ratio) + 0.5) / (cells * ratio)
    for region, (number, left, top, right, bottom) in enumerate(regions):
        plane = image[int(number)].astype(np.float64)
        values = np.zeros((len(plane), cells * ratio, cells * ratio))
        for i, y in enumerate(top - 0.5 + (bottom - top) * shares):
            for j, x in enumerate(left - 0.5 + (right - left) * shares):
                if not (-1 <= y <= plane.shape[1] and -1 <= x <= plane.shape[2]):
                    continue
                row, column = (min(max(at, 0), extent - 1) for at, extent in zip((y, x), plane.shape[1:]))
                low, first = int(row), int(column)
                high, last = min(low + 1, plane.shape[1] - 1), min(first + 1, plane.shape[2] - 1)
                above = plane[:, low, first] * (first + 1 - column) + plane[:, low, last] * (column - first)
                below = plane[:, high, first] * (first + 1 - column) + plane[:, high, last] * (column - first)
                values[:, i, j] = above * (low + 1 - row) + below * (row - low)
        result[region] = values.reshape(len(plane), cells, ratio, cells, ratio).max((2, 4))
    return result.astype(np.float32)


def check_roi_align(checks, numbers):
    image = numbers.standard_normal((2, 3, 9, 12)).astype(np.float32)
    regions = np.array([[0, 1, 1, 9.5, 7.5], [1, 0, 0, 11, 8], [0, -4, -3, 2, 2], [1, 9, 6, 19, 17], [1, 3, 3, 3.2, 3.1]],
                       np.float32)
    for aligned, transformation in ((1, "half_pixel"), (0, "output_half_pixel")):
        for ratio in (0, 2):
            fields = {"output_height": 4, "output_width": 3, "sampling_ratio": ratio, "spatial_scale": 0.75, "mode": "avg"}
            found = ours(checks, "roi_align", "mmcv", "MMCVRoiAlign", [image, regions], TensorProto.FLOAT, 4,
                         {**fields, "aligned": aligned})
            expected = theirs(16, "RoiAlign", [image, regions[:, 1:].copy(), regions[:, 0].astype(np.int64)],
                              TensorProto.FLOAT, 4, {**fields, "coordinate_transformation_mode": transformation})
            compare(checks, f"roi_align avg {ratio} {transformation}", found, expected)
    found = ours(checks, "roi_align", "mmcv", "MMCVRoiAlign", [image, regions], TensorProto.FLOAT, 4,
                 {"output_height": 3, "output_width": 3, "sampling_ratio": 2, "mode": "max"})
    compare(checks, "roi_align max", found, largest_samples(image, regions, 3, 2))
    regions[3, 0] = 2
    np.save(os.path.join(checks.folder, "in1.npy"), regions)
    done = checks.run("run", "one.onnx", "--plugin", checks.library("roi_align"), "--input", "in0=in0.npy", "--input",
                      "in1=in1.npy", "--output", "out=out.npy", "--no-timing")
    checks.say(done.returncode == 1 and "region 3" in done.stderr, f"roi_align of no image: exit {done.returncode}")


def check_kernel_kit(checks, numbers):
    for shape, axis in (((5, 257), -1), ((2, 3, 40), 2), ((4, 6, 5), 1), ((1, 1), 0)):
        x = numbers.standard_normal(shape).astype(np.float32) * 10
        found = ours(checks, "kernel_kit", "kit", "Softmax", [x], TensorProto.FLOAT, len(shape), {"axis": axis})
        expected = theirs(13, "Softmax", [x], TensorProto.FLOAT, len(shape), {"axis": axis})
        compare(checks, f"kernel_kit Softmax {shape} axis {axis}", found, expected)
    for a, b in (((3, 33), (33, 70)), ((2, 5, 9), (9, 100)), ((17,), (17, 4))):
        inputs = [numbers.standard_normal(shape).astype(np.float32) for shape in (a, b)]
        found = ours(checks, "kernel_kit", "kit", "MatMul", inputs, TensorProto.FLOAT, len(a), {})
        compare(checks, f"kernel_kit MatMul {a} {b}", found, theirs(13, "MatMul", inputs, TensorProto.FLOAT, len(a), {}))


VALUES = {"deformable_convolution": check_deformable_convolution, "dynamic_resize": check_dynamic_resize,
          "grid_sample": check_grid_sample, "kernel_kit": check_kernel_kit, "nms": check_nms, "roi_align": check_roi_align}


def check_length(checks, example):
    """As short as promised, and as the table of examples says."""
    with open(os.path.join(EXAMPLES, example, example + ".c"), encoding="utf-8") as source:
        lines = len(source.readlines())
    with open(os.path.join(EXAMPLES, "README.md"), encoding="utf-8") as page:
        said = re.search(rf"^\| \[{example}\]\({example}\) \| (\d+) \|", page.read(), re.M)
    most = MOST_LINES.get(example, 149)
    checks.say(lines <= most and said and int(said[1]) == lines,
               f"{example}: {lines} lines, at most {most}, {said[1] if said else 'none'} in the table")


def check_rules(checks, example):
    """By the command that users run."""
    done = checks.run("plugin", "check", checks.library(example))
    last = (done.stdout.strip().splitlines() or [""])[-1]
    counts = re.fullmatch(r"(\d+) passed, 0 failed, \d+ skipped", last)
    checks.say(done.returncode == 0 and counts and int(counts[1]) > 50,
               f"{example}: exit {done.returncode}, {last} {'' if counts else done.stdout + done.stderr}")


def main():
    tenon, libraries = (os.path.abspath(path) for path in sys.argv[1:3])
    with tempfile.TemporaryDirectory(prefix="tenon-example-plugins-") as folder:
        checks = Checks(tenon, folder, libraries)
        for example, values in VALUES.items():
            check_length(checks, example)
            check_rules(checks, example)
            values(checks, np.random.default_rng(3))
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
