# SPDX-License-Identifier: Apache-2.0
"""Runs Caffe networks as a user would: each kind of layer against NumPy, the repository's LeNet in all forms of the
files against the ONNX model, what bad files get, and the networks of TENON_SHARED_DATA where those are there.

Usage: check_caffe.py TENON [PLUGIN]: the program, and the library of examples/prelu_caffe.
"""

import gzip
import os
import re
import subprocess
import sys
import tempfile

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..")
sys.path += [HERE, os.path.join(ROOT, "scripts", "models")]

import caffe_cases  # noqa: E402
import write_caffe  # noqa: E402
from checks import ProgramChecks  # noqa: E402


class Checks(ProgramChecks):
    prints_passes = False

    def program(self, *arguments):
        return subprocess.run([self.tenon, *arguments], capture_output=True, text=True, timeout=300)

    def run(self, network, weights, inputs, *options):
        """Outputs by name, or the message."""
        results = os.path.join(self.folder, "results")
        os.makedirs(results, exist_ok=True)
        for name in os.listdir(results):
            os.remove(os.path.join(results, name))
        arguments = ["run", network, "--output-dir", results, "--threads", "1", *options]
        arguments += ["--weights", weights] if weights else []
        for name, value in inputs.items():
            file = os.path.join(self.folder, f"{name}.npy")
            np.save(file, np.asarray(value))
            arguments += ["--input", f"{name}={file}"]
        done = self.program(*arguments)
        if done.returncode:
            return f"exit {done.returncode}: {done.stderr.strip()}"
        return {name[:-4]: np.load(os.path.join(results, name)) for name in os.listdir(results)}

    def compare(self, text, results, expected, relative=1e-4, absolute=2e-5):
        if isinstance(results, str):
            return self.say(False, f"{text}: {results}")
        if sorted(results) != sorted(expected):
            return self.say(False, f"{text}: outputs {sorted(results)}, expected {sorted(expected)}")
        for name, value in expected.items():
            result = results[name]
            same = result.shape == value.shape and result.dtype == np.float32
            close = same and np.allclose(result, value, rtol=relative, atol=absolute)
            largest = np.abs(result - value).max() if same and value.size else float("nan")
            self.say(close, f"{text}: {name} is {result.dtype}{list(result.shape)}, expected {list(value.shape)}, largest "
                            f"difference {largest:.1e}")

    def refuse(self, text, network, weights, code, *expected, options=()):
        """The program ends with `code` and one message that holds all that is expected."""
        arguments = ["inspect", self.write("bad.prototxt", network), *options]
        if weights is not None:
            arguments += ["--weights", self.write("bad.caffemodel", weights)]
        done = self.program(*arguments)
        good = done.returncode == code and all(piece in done.stderr for piece in expected)
        self.say(good, f"{text}: exit {done.returncode}, expected {code} and {expected}: {done.stderr.strip()}")


def check_layers(checks):
    for name, text, weights, inputs, expected in caffe_cases.all_cases():
        network = checks.write("case.prototxt", text)
        model = checks.write("case.caffemodel", write_caffe.model(weights)) if weights else None
        shapes = []
        # Data says little of its top's shape; a static input's streams are another input's second extent
        if '"Data"' in text or name.endswith(("with a static input", "with everything")):
            for port, value in inputs.items():
                shapes += ["--shape", f"{port}={'x'.join(map(str, value.shape))}"]
        checks.compare(name, checks.run(network, model, inputs, *shapes), expected)


def check_recurrent(checks):
    """A sequence in two runs, the states handed on, is the sequence in one; and what wrong networks get."""
    data = caffe_cases.data
    for kind, names in (("LSTM", ("h", "c")), ("RNN", ("h",))):
        weights, blobs = caffe_cases.recurrent_weights(kind, 5, 9)
        x, cont, states = data(6, 2, 5), np.ones((6, 2), np.float32), [data(1, 2, 9) for _ in names]
        compute = caffe_cases.caffe.lstm if kind == "LSTM" else caffe_cases.caffe.rnn
        expected, last = compute(x, cont, weights, None, states)
        inputs = {"x": (6, 2, 5), "cont": (6, 2), **{name: (1, 2, 9) for name in names}}
        text = "".join(caffe_cases.input_text(name, shape) for name, shape in inputs.items())
        layer = (f'layer {{ name: "it" type: "{kind}"' + "".join(f' bottom: "{name}"' for name in inputs) + ' top: "y"' +
                 "".join(f' top: "{name}_last"' for name in names) +
                 " recurrent_param { num_output: 9 expose_hidden: true } }\n")
        network = checks.write("recurrent.prototxt", text + layer)
        model = checks.write("recurrent.caffemodel", write_caffe.model([("it", kind, blobs)]))
        plan = os.path.join(checks.folder, "recurrent.plan")
        done = checks.program("build", network, "--weights", model, "-o", plan, "--shape", "x=1x2x5:3x2x5:9x2x5", "--shape",
                              "cont=1x2:3x2:9x2", "--no-timing")
        checks.say(done.returncode == 0, f"build of {kind}: {done.stderr}")
        outputs = []
        for part in (slice(0, 2), slice(2, 6)):
            found = checks.run(plan, None, {"x": x[part], "cont": cont[part], **dict(zip(names, states))})
            if isinstance(found, str):
                checks.say(False, f"{kind} in parts: {found}")
                break
            outputs.append(found["y"])
            states = [found[f"{name}_last"] for name in names]
        else:
            whole = {"y": np.concatenate(outputs), **{f"{name}_last": state for name, state in zip(names, states)}}
            checks.compare(f"{kind} in parts", whole, {"y": expected, **{f"{n}_last": s for n, s in zip(names, last)}})
        refuse_recurrent(checks, kind, text, layer, blobs)


def refuse_recurrent(checks, kind, text, layer, blobs):
    small, gates, states = write_caffe.model([("it", kind, blobs)]), 36 if kind == "LSTM" else 9, 2 if kind == "LSTM" else 1
    hidden = layer.replace(" expose_hidden: true", "")

    def refuse(what, changed, code, *expected, weights=small, inputs=text):
        checks.refuse(f"{kind}: {what}", inputs + changed, weights, code, "'it'", *expected)

    refuse("cont missing", re.sub(' bottom: "(?!x)[a-z_]*"', "", hidden), 1, "1 bottoms", "2 are expected", "cont")
    refuse("states that are not exposed", re.sub(' top: "[a-z]_last"', "", hidden.replace('bottom: "x"', 'bottom: "x" bottom: "x"')),
           1, f"{3 + states} bottoms", "without expose_hidden", "x_static")
    refuse("states missing", re.sub(' bottom: "[hc]"', "", layer), 1, "2 bottoms", f"{2 + states} are expected", "h_0")
    refuse("tops missing", re.sub(' top: "[a-z]_last"', "", layer), 1, "1 tops", f"{1 + states} are expected")
    refuse("tops too many", re.sub(' bottom: "[hc]"', "", hidden), 1, f"{1 + states} tops", "1 is expected", "without expose_hidden")
    refuse("no number of outputs", layer.replace("num_output: 9", ""), 1, "num_output is 0")
    refuse("unknown field", layer.replace("num_output", "num_outputs"), 1, "num_outputs", "nearest is 'num_output'")
    refuse("x without streams", layer, 1, "x has rank 1", inputs=text.replace("dim: 6 dim: 2 dim: 5", "dim: 6"))
    refuse("cont of another rank", layer, 1, "cont has rank 3", inputs=text.replace("dim: 6 dim: 2 }", "dim: 6 dim: 2 dim: 1 }"))
    refuse("cont of other streams", layer, 1, "'cont'", "[1, 3]", "[1, 2]", inputs=text.replace("dim: 6 dim: 2 }", "dim: 6 dim: 3 }"))
    refuse("state of another rank", layer, 1, "h_0 has rank 2", inputs=text.replace("dim: 1 dim: 2 dim: 9", "dim: 2 dim: 9", 1))
    refuse("state of another size", layer, 1, "'h_0'", "[1, 2, 8]", "[1, 2, 9]", inputs=text.replace("dim: 2 dim: 9", "dim: 2 dim: 8", 1))
    refuse("another number of outputs", layer.replace("num_output: 9", "num_output: 8"), 1, "blob 0", f"[{gates}, 5]",
           f"[{gates // 9 * 8}, 5]")
    refuse("x of another depth", layer, 1, "blob 0", f"[{gates}, 5]", f"[{gates}, 4]", inputs=text.replace("dim: 5", "dim: 4"))
    for index in range(1, len(blobs)):
        wrong = [blob[:-1] if i == index else blob for i, blob in enumerate(blobs)]
        refuse(f"blob {index} of another shape", layer, 1, f"blob {index}", weights=write_caffe.model([("it", kind, wrong)]))
    few = write_caffe.model([("it", kind, blobs[:-1])])
    refuse("one blob too few", layer, 1, f"blob {len(blobs) - 1} is missing", weights=few)
    many = write_caffe.model([("it", kind, [*blobs, blobs[1]])])
    refuse("one blob too many", layer, 1, f"{len(blobs) + 1} blobs", f"{len(blobs)} are expected", weights=many)
    refuse("no weights", layer, 1, ".caffemodel", weights=None)


def check_lenet(checks):
    models = os.path.join(ROOT, "models")
    digits, expected = (np.load(os.path.join(models, "reference", f"lenet_{name}.npy")) for name in ("input", "output"))
    network, model = (os.path.join(models, f"lenet.{ending}") for ending in ("prototxt", "caffemodel"))
    result = checks.run(network, model, {"input": digits})
    checks.compare("lenet.prototxt", result, {"output": expected}, 1e-3, 1e-5)
    onnx = checks.run(os.path.join(models, "lenet.onnx"), None, {"input": digits})
    if isinstance(result, dict) and isinstance(onnx, dict):
        checks.say(np.array_equal(result["output"], onnx["output"]), "lenet.prototxt gives what lenet.onnx gives")
    weights = write_caffe.lenet_weights()
    for old_text in (False, True):
        text = checks.write("lenet.prototxt", write_caffe.lenet_text(old_text))
        for old_model, form in ((False, "legacy"), (True, "legacy"), (True, "shape"), (False, "double"),
                                (False, "unpacked")):
            file = checks.write("lenet.caffemodel", write_caffe.model(weights, form, old_model))
            checks.compare(f"lenet, text {'V1' if old_text else 'V2'}, model {'V1' if old_model else 'V2'}, {form}",
                           checks.run(text, file, {"input": digits[:2]}), {"output": expected[:2]}, 1e-3, 1e-5)
    half = checks.write("lenet.caffemodel", write_caffe.model(weights, "half"))
    checks.compare("lenet, half", checks.run(network, half, {"input": digits[:2]}), {"output": expected[:2]}, 2e-2, 2e-3)
    plan = os.path.join(checks.folder, "lenet.plan")
    done = checks.program("build", network, "--weights", model, "-o", plan, "--shape", "input=1x1x28x28", "--no-timing")
    checks.say(done.returncode == 0, f"build: {done.stderr}")
    checks.compare("lenet's plan", checks.run(plan, None, {"input": digits[:1]}), {"output": expected[:1]}, 1e-3, 1e-5)


def check_folder(checks):
    """A folder as `tenon test` takes it, with weights beside the network."""
    from onnx import numpy_helper

    folder = os.path.join(checks.folder, "case")
    os.makedirs(os.path.join(folder, "test_data_set_0"))
    checks.write("case/model.prototxt", write_caffe.lenet_text())
    checks.write("case/model.caffemodel", write_caffe.model(write_caffe.lenet_weights()))
    for name, file in (("input", "input_0"), ("output", "output_0")):
        array = np.load(os.path.join(ROOT, "models", "reference", f"lenet_{name}.npy"))
        checks.write(f"case/test_data_set_0/{file}.pb", numpy_helper.from_array(array, name).SerializeToString())
    done = checks.program("test", folder, "--atol", "1e-5")
    checks.say(done.returncode == 0 and "1 passed, 0 failed" in done.stdout, f"test of a folder: {done.stdout}{done.stderr}")


def check_errors(checks):
    good = write_caffe.lenet_text()
    weights = write_caffe.lenet_weights()
    small = write_caffe.model(weights)
    refuse = checks.refuse
    refuse("unknown field", good.replace("num_output: 20", "num_outputs: 20"), small, 1, "line 13, column 23",
           "num_outputs", "nearest is 'num_output'")
    refuse("unknown field of a layer", good.replace('top: "conv1"', 'tops: "conv1"'), small, 1, "line 12", "tops", "'top'")
    refuse("unknown word", good.replace("pool: MAX", "pool: MAXX"), small, 1, "line 20", "nearest is MAX")
    refuse("text for a number", good.replace("kernel_size: 5", 'kernel_size: "5"'), small, 1, "line 13", "whole number")
    refuse("given twice", good.replace("num_output: 20", "num_output: 20 num_output: 20"), small, 1, "given twice")
    refuse("brace missing", good.rstrip()[:-1], small, 1, "ends where")
    refuse("brace too many", good + "}", small, 1, f"line {good.count(chr(10)) + 1}, column 1", "'}'")
    refuse("quote missing", good.replace('"lenet"', '"lenet'), small, 1, "line 1", "quotes")
    refuse("deep nesting", "a {" * 100, small, 1, "nested deeper")
    refuse("unknown type", good.replace('"ReLU"', '"ReLUU"'), small, 3, "relu1", "ReLUU", "'ReLU'")
    refuse("Python", good.replace('type: "ReLU"', 'type: "Python" python_param { module: "m" layer: "L" }'), small, 3,
           "relu1", "Python", "'m'", "'L'")
    refuse("missing bottom", good.replace('bottom: "pool1"', 'bottom: "pool3"'), small, 1, "conv2", "pool3", "nearest")
    refuse("no weights", good, None, 1, "conv1", ".caffemodel")
    refuse("weights of another name", good.replace('name: "fc2"', 'name: "fc_2"'), small, 1, "fc_2", "nearest is 'fc2'")
    refuse("blob of another size", good.replace("num_output: 500", "num_output: 400"), small, 1, "fc1", "blob 0",
           "[500, 800]", "[400, 800]")
    refuse("one blob too many", good.replace("num_output: 500", "num_output: 500 bias_term: false"), small, 1, "fc1",
           "2 blobs", "1 are expected")
    few = write_caffe.model([(n, t, a[:1]) for n, t, a in weights])
    refuse("one blob too few", good, few, 1, "conv1", "blob 1 is missing")
    refuse("model cut off", good, small[:-1000], 1, "bad.caffemodel", "longer than what is left")
    refuse("not a model", good, b"GIF89a" * 50, 1, "bad.caffemodel")
    refuse("not a description", "\x89PNG\r\n\x1a\n\0\0\0", small, 1, "bad.prototxt")
    refuse("empty", "", small, 1, "an empty file")
    refuse("without a layer", 'name: "none"', small, 1, "no layer")
    refuse("both rules", good.replace('top: "fc1"', 'top: "fc1" include { phase: TEST } exclude { phase: TRAIN }', 1), small,
           1, "include and exclude")


def check_binary(checks):
    """The description in binary form: that of a caffemodel alone, without parameters, is enough for some networks."""
    wire = write_caffe.wire
    shape = wire.part(1, wire.integers(1, (2, 3)))
    layers = [wire.text(1, "x") + wire.text(2, "Input") + wire.text(4, "x") + wire.part(143, shape),
              wire.text(1, "p") + wire.text(2, "Power") + wire.text(3, "x") + wire.text(4, "y") +
              wire.part(122, wire.real(2, 3) + wire.real(3, -1)) + wire.part(999, b"\x08\x01"),
              wire.text(1, "s") + wire.text(2, "Eltwise") + wire.text(3, "x") + wire.text(3, "y") + wire.text(4, "z") +
              wire.part(110, wire.integer(1, 0))]
    network = wire.text(1, "net") + b"".join(wire.part(100, layer) for layer in layers)
    x = np.array([[1, 2, 3], [4, 5, 6]], np.float32)
    path = checks.write("binary.prototxt", network)
    checks.compare("binary description", checks.run(path, None, {"x": x}), {"z": x * (3 * x - 1)})
    other = network + wire.part(100, wire.text(1, "q") + wire.text(2, "Mine") + wire.text(3, "z") + wire.text(4, "q") +
                                wire.part(999, b"\x08\x01"))
    checks.refuse("binary parameters without names", other, None, 3, "'q'", "binary form numbers them")


def check_text_weights(checks):
    """A whole network in one text, and one in binary form: no file of weights is needed."""
    digits, expected = (np.load(os.path.join(ROOT, "models", "reference", f"lenet_{name}.npy"))[:2] for name in ("input", "output"))
    text = write_caffe.lenet_text()
    for name, _, arrays in write_caffe.lenet_weights():
        blobs = "".join("blobs {\n  shape {" + "".join(f" dim: {extent}" for extent in array.shape) + " }\n" +
                        "".join(f"  data: {value!r}\n" for value in map(float, array.ravel())) + "}\n" for array in arrays)
        text = text.replace(f'name: "{name}"', f'name: "{name}"\n{blobs}', 1)
    network = checks.write("whole.prototxt", text)
    checks.compare("weights in the text", checks.run(network, None, {"input": digits}), {"output": expected}, 1e-3, 1e-5)
    checks.refuse("a slip among weights", text.replace("  data: ", "  date: ", 1).replace("  data: ", "  data: @", 1), None, 1,
                  "line ", "character")
    wire = write_caffe.wire
    blobs = b"".join(wire.part(7, write_caffe.blob(array)) for array in (np.array([[2, 3]], np.float32), np.array([1], np.float32)))
    binary = (wire.text(1, "net") + wire.part(100, wire.text(1, "x") + wire.text(2, "Input") + wire.text(4, "x") +
                                              wire.part(143, wire.part(1, wire.integers(1, (1, 2))))) +
              wire.part(100, wire.text(1, "ip") + wire.text(2, "InnerProduct") + wire.text(3, "x") + wire.text(4, "y") + blobs +
                        wire.part(117, wire.integer(1, 1))))
    whole = checks.write("whole_binary.prototxt", binary)
    x = np.array([[1, 2]], np.float32)
    checks.compare("weights in a binary description", checks.run(whole, None, {"x": x}), {"y": np.array([[9]], np.float32)})


def check_custom(checks, plugin):
    x, slopes = caffe_cases.data(2, 3, 4, 5), caffe_cases.data(3)
    _, text, weights, inputs, expected = caffe_cases.one(
        "prelu", "PReLU", "prelu_param { channel_shared: false filler { type: \"constant\" } }", x,
        np.where(x > 0, x, slopes.reshape(3, 1, 1) * x), (slopes,))
    network = checks.write("prelu.prototxt", text)
    model = checks.write("prelu.caffemodel", write_caffe.model(weights))
    checks.compare("prelu of a plugin", checks.run(network, model, inputs, "--plugin", plugin), expected)
    shown = checks.program("inspect", network, "--weights", model, "--plugin", plugin)
    checks.say(re.search(r"Caffe::PReLU +version", shown.stdout), f"the plugin's operator serves PReLU: {shown.stdout}")
    checks.refuse("prelu without weights", text, None, 1, "'it'", ".caffemodel", options=("--plugin", plugin))
    checks.refuse("field that the operator has not", text.replace("channel_shared", "chanel_shared"),
                  write_caffe.model(weights), 1, "chanel_shared", "channel_shared", options=("--plugin", plugin))


def check_mean(checks):
    """A mean image is subtracted before the scale, in the network itself."""
    x, mean = 9 * caffe_cases.data(2, 3, 4, 5), caffe_cases.data(3, 4, 5)
    text = caffe_cases.input_text("x", x.shape) + 'layer { name: "it" type: "ReLU" bottom: "x" top: "y" }\n'
    network, file = checks.write("mean.prototxt", text), checks.write("mean.binaryproto", write_caffe.mean(mean))
    for option, scale in ((file, "1"), (f"x={file}", "0.25")):
        checks.compare(f"mean {option}", checks.run(network, None, {"x": x}, "--mean", option, "--scale", scale),
                       {"y": np.maximum((x - mean) * float(scale), 0)})
    plan = os.path.join(checks.folder, "mean.plan")
    done = checks.program("build", network, "-o", plan, "--mean", file, "--scale", "0.5", "--no-timing")
    checks.say(done.returncode == 0, f"build with a mean: {done.stderr}")
    checks.compare("mean in a plan", checks.run(plan, None, {"x": x}), {"y": np.maximum((x - mean) / 2, 0)})
    each = checks.write("mean.binaryproto", write_caffe.mean(mean[:, :1, :1]))
    checks.compare("mean of channels", checks.run(network, None, {"x": x}, "--mean", each),
                   {"y": np.maximum(x - mean[:, :1, :1], 0)})
    other = checks.write("other.binaryproto", write_caffe.mean(mean[:, :, :4]))
    checks.refuse("mean of another shape", text, None, 1, "other.binaryproto", "[1, 3, 4, 4]", "[?, 3, 4, 5]", "'x'",
                  options=("--mean", other))
    checks.refuse("mean of no input", text, None, 1, "'y'", options=("--mean", f"y={file}"))


def check_shared(checks):
    """Caffe's own LeNet on MNIST."""
    folder = os.environ.get("TENON_SHARED_DATA", os.path.join(ROOT, "..", "shared", "data"))
    network, model = (os.path.join(folder, "lenet", name) for name in ("lenet.prototxt", "lenet_iter_10000.caffemodel"))
    images, labels = (os.path.join(folder, "mnist", f"t10k-{name}-ubyte.gz") for name in ("images-idx3", "labels-idx1"))
    if not all(map(os.path.exists, (network, model, images, labels))):
        checks.skipped += 1
        return print(f"SKIP Caffe's LeNet on MNIST: {folder} (TENON_SHARED_DATA) does not have the files")
    with gzip.open(images) as file:
        digits = np.frombuffer(file.read(), np.uint8, offset=16).reshape(-1, 1, 28, 28)
    with gzip.open(labels) as file:
        answers = np.frombuffer(file.read(), np.uint8, offset=8)
    result = checks.run(network, model, {"data": digits * np.float32(0.00390625)}, "--shape", "data=10000x1x28x28")
    if isinstance(result, str):
        return checks.say(False, result)
    right = result["prob"].argmax(axis=1) == answers
    for count, expected in ((2000, 1973), (10000, 9914)):
        found = int(right[:count].sum())
        checks.say(found == expected, f"Caffe's LeNet: {found} of {count} right, {expected} expected")
    return None


def main():
    if len(sys.argv) not in (2, 3):
        print(__doc__, file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(prefix="tenon-caffe.") as folder:
        checks = Checks(sys.argv[1], folder)
        check_layers(checks)
        check_recurrent(checks)
        check_lenet(checks)
        check_folder(checks)
        check_errors(checks)
        check_binary(checks)
        check_text_weights(checks)
        check_mean(checks)
        if len(sys.argv) == 3:
            check_custom(checks, sys.argv[2])
        check_shared(checks)
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
