# SPDX-License-Identifier: Apache-2.0
"""tenon.Plugin and tenon.elementwise: layers from source text, in networks and alone, and what wrong ones are told."""

import atexit
import logging
import os
import re
import subprocess
import sys
import tempfile
import threading
import unittest

import numpy as np
import tenon
from onnx import TensorProto, helper

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CACHE = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
atexit.register(CACHE.cleanup)
LOOP = "for (int64_t i = 0; i < tn_layer_count(x); i++) ((T *)y->data)[i] = {};"
QUICK = ["matches-reference"]


def plugin(name, *arguments, code=None, **options):
    if code:
        options["forward"] = LOOP.format(code).replace("T *", "float *") if "T" not in code else LOOP.format(code)
    return tenon.Plugin(name, *arguments, directory=CACHE.name, **options)


def sigmoid_clip(x, low, high):
    return low + (high - low) / (1 + np.exp(-x.astype(np.float64)))


class Plugins(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.x = np.linspace(-3, 3, 12).astype(np.float32).reshape(3, 4)
        cls.clip = plugin("Test::Clip", {"x": "T:f32|f64"}, {"y": "T"}, {"low": 0.0, "high": 6.0},
                          code="fields->low + (fields->high - fields->low) / (1 + exp(-((const T *)x->data)[i]))")

    def test_runs_alone_in_each_of_its_types(self):
        for dtype in np.float32, np.float64:
            y = self.clip(self.x.astype(dtype), high=8)
            self.assertEqual(y.dtype, dtype)
            np.testing.assert_allclose(y, sigmoid_clip(self.x, 0, 8), rtol=1e-5)
        self.assertEqual(self.clip([0.0]).tolist(), [3])
        self.assertEqual(self.clip.infer(self.x), [("f32", (3, 4))])

    def test_serves_the_node_of_a_model(self):
        node = helper.make_node("Clip", ["x"], ["y"], domain="Test", low=-1.0)
        ports = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", 4]) for name in "xy"]
        model = helper.make_model(helper.make_graph([node], "clip", ports[:1], ports[1:]), ir_version=10,
                                  opset_imports=[helper.make_opsetid("", 20), helper.make_opsetid("Test", 1)])
        net = tenon.load(model, plugins=[self.clip], shapes={"x": [(1, 4), (3, 4), (8, 4)]}, timing=False)
        for rows in 1, 3:
            np.testing.assert_allclose(net(self.x[:rows]), sigmoid_clip(self.x[:rows], -1, 6), rtol=1e-5)
        path = os.path.join(CACHE.name, "clip.plan")
        net.save(path)
        # The plan names its library, by which a process without this one's plugins finds it.
        code = (f"import tenon, numpy as np; net = tenon.load({path!r}, plugins=[{self.clip.path!r}]); "
                "print(net(np.zeros((2, 4), np.float32)).tolist())")
        done = subprocess.run([sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}, text=True,
                              capture_output=True, check=True)
        self.assertEqual(done.stdout.strip(), str([[2.5] * 4] * 2))

    def test_two_namespaces_have_the_same_name(self):
        one, two = (plugin(f"{domain}::Same", code=f"{value}") for domain, value in (("A", 1), ("B", 2)))
        self.assertEqual((one([0.0]).item(), two([0.0]).item()), (1, 2))

    def test_is_compiled_once_and_again_when_changed(self):
        first = plugin("Test::Changed", code="1")
        self.assertEqual(first([0.0]).item(), 1)
        path = first.path
        inode = os.stat(path).st_ino
        self.assertEqual((plugin("Test::Changed", code="1").path, os.stat(path).st_ino), (path, inode))
        second = plugin("Test::Changed", code="2")
        self.assertEqual(second([0.0]).item(), 2)
        self.assertNotEqual(second.path, path)

    def test_an_included_file_that_changed_is_compiled_anew(self):
        with tempfile.TemporaryDirectory() as folder:
            header = os.path.join(folder, "value.h")
            paths = []
            for value in 3, 4:
                with open(header, "w") as file:
                    file.write(f"#define VALUE {value}\n")
                layer = plugin("Test::Included", code="VALUE", headers=["value.h"], extra_include_dirs=folder)
                paths.append(layer.path)
                with open(layer.path, "rb") as file:
                    self.assertTrue(file.read())
                self.assertEqual(layer([0.0]).item(), value)

    def test_setup_fills_members_once_for_a_node(self):
        layer = plugin("Test::Sum", fields={"k": [float]}, members="double sum;",
                       setup="for (uint64_t i = 0; i < fields->k.count; i++) self->sum += fields->k.items[i];",
                       extra_src="static double twice(double value) { return 2 * value; }",
                       code="(float)twice(self->sum) * ((const float *)x->data)[i]")
        self.assertEqual(layer([1, 2, 3], k=[1.5, 2]).tolist(), [7, 14, 21])
        self.assertFalse(layer.check([1, 2, 3], k=[1.5, 2], rules=QUICK).failed)

    def test_shape_rules(self):
        tile = plugin("Test::Tile", ["x"], ["y"], {"k": 2}, shape={"y": ["k", "x[0]"]},
                      forward="for (int64_t k = 0; k < fields->k; k++) memcpy((float *)y->data + k * x->shape[0], x->data, x->bytes);")
        self.assertEqual(tile([1, 2], k=3).tolist(), [[1, 2]] * 3)
        with self.assertRaisesRegex(tenon.Error, "input 'x' has 0 extents: expected 1 or more"):
            tile(1.0)
        like = plugin("Test::Like", {"x": "f32", "size": "any shape"}, ["y"], shape="return tn_layer_set_shape(call, 0, size->rank, size->shape);",
                      forward="for (int64_t i = 0; i < tn_layer_count(y); i++) ((float *)y->data)[i] = *(const float *)x->data;")
        self.assertEqual(like([7.0], np.zeros((2, 2), np.int32)).tolist(), [[7, 7]] * 2)

    def test_several_outputs_and_fields_of_every_type(self):
        layer = plugin("Test::Both", ["x"], ["y", "z"], {"a": True, "b": "left", "c": tenon.Field(str, "up", choices="down|up"),
                                                         "d": [1, 2], "e": ["p", "q"], "f": tenon.Field(int)},
                       code="fields->a + 10 * (fields->b[0] == 'l') + 100 * (int)fields->c + 1000 * (int)fields->d.count + 10000 * "
                            "(int)fields->e.count + 100000 * (int)fields->f; if (z) *(float *)z->data = 5")
        self.assertEqual([each.item() for each in layer([0.0], f=3)], [322111, 5])
        self.assertEqual(layer([0.0], f=1, a=False, b="r", c="down", d=[], e=["x"])[0].item(), 110000)

    def test_check_and_bench_answer_tables(self):
        found = self.clip.check(rules=QUICK)
        self.assertTrue(found.passed and not found.failed)
        self.assertRegex(str(found), r"^\d+ passed, 0 failed, \d+ skipped$")
        wrong = plugin("Test::Wrong", code="1", reference=lambda x: np.where(x < 0, x, 1).astype(np.float32))
        with self.assertRaisesRegex(tenon.CheckFailed, r"matches-python-reference +compiled +\| x=f32\[2,3,5\] +output 'y'\[") as caught:
            wrong.check(rules=QUICK)
        self.assertIn("<table>", caught.exception.findings._repr_html_())
        self.assertTrue(any(row.kernel == "compiled" and row.seconds > 0 for row in self.clip.bench(self.x)))

    def test_an_error_of_the_compiler_has_the_lines_of_this_file(self):
        layer = plugin("Test::Mistaken", forward="""
            const float *from = x->data;
            ((float *)y->data)[0] = fron[0];
        """)
        with open(__file__) as file:
            line = 1 + next(number for number, text in enumerate(file) if "fron[0]" in text)
        logging.getLogger("tenon").disabled = True
        self.addCleanup(setattr, logging.getLogger("tenon"), "disabled", False)
        with self.assertRaisesRegex(tenon.Error, rf"{re.escape(__file__)}:{line}:\d+: error: .fron. undeclared"):
            layer(self.x)

    def test_verbose_shows_the_compiler(self):
        with self.assertLogs("tenon", "INFO") as caught:
            plugin("Test::Shown", code="1", verbose=True).rebuild()
        self.assertRegex(caught.output[0], "cc .*-shared")

    def test_code_for_a_gpu_names_the_fields_and_ports(self):
        layer = plugin("Test::Gpu", fields={"k": 2.0}, code="1", cuda="launch<<<1, 1, 0, stream>>>((float *)y->data, fields->k);",
                       cuda_src="__global__ void launch(float *y, float k) { *y = k; }")
        from tenon import _code
        text = _code.cuda_source(layer)
        self.assertIn('#line 1 "Gpu.cuda"', text)
        self.assertIn("TN_FIELD_FULL(layer_fields, k, 4, 0, \"2.0\"", text)

    def test_what_is_wrong_is_said_before_compiling(self):
        wrong = [
            ({"fields": {"2k": 1}}, "named '2k': expected a name of C"), ({"fields": {"k": {}}}, "field 'k': .*expected a default"),
            ({"fields": {"k": tenon.Field}}, "field 'k'"), ({"inputs": {"x": "f32 shap"}}, "'shap' is not known; the nearest is 'shape'"),
            ({"inputs": ["x", "x"]}, "two inputs have the same name"), ({"inputs": ["call"]}, "means something else"),
            ({"outputs": []}, "no outputs"), ({"expression": "x"}, "both came"), ({"forward": None}, "neither"),
            ({"forward": 3}, "forward is int"), ({"language": "rust"}, "language 'rust'"), ({"outputs": ["x"]}, "'x' names two"),
            ({"shape": {"z": [1]}}, "which is no output"), ({"shape": {"y": "z"}}, "expected a list of extents, or an input"), ({"shape": {"y": ["x[n]"]}}, "expected a number in x"),
            ({"teardown": "a"}, "teardown without setup"), ({"proto": "int64 k"}, "proto: 'int64 k': expected"),
        ]
        for options, text in wrong:
            with self.subTest(text), self.assertRaisesRegex((TypeError, ValueError), text):
                plugin("Test::Wrong2", **{"forward": "", **options})
        for name in "", "A::", "::B", "A::b c":
            with self.subTest(name), self.assertRaises(ValueError):
                plugin(name, forward="")
        with self.assertRaisesRegex(TypeError, "no field 'hihg'; the nearest is 'high'"):
            self.clip(self.x, hihg=1)
        with self.assertRaisesRegex(TypeError, "of 2 arrays: expected x"):
            self.clip(self.x, self.x)
        with self.assertRaisesRegex(tenon.Error, "i32"):
            self.clip(self.x.astype(np.int32))

    def test_fields_by_protobuf(self):
        layer = plugin("Test::Proto", proto="repeated int64 size = 100; double mode = 101;", code="fields->size.items[1] + fields->mode")
        self.assertEqual(layer([0.0], size=[1, 2], mode=0.5).item(), 2.5)

    def test_threads_share_a_layer(self):
        results = []
        def run():
            results.append(plugin("Test::Shared", code="((const float *)x->data)[i] + 1")([1.0]).item())
        threads = [threading.Thread(target=run) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(results, [2] * 4)


class Elementwise(unittest.TestCase):
    def test_an_expression_is_an_operator(self):
        @tenon.elementwise("low + (high - low) * sigmoid(x)", domain="Test", directory=CACHE.name)
        def ExpressionClip(x, low=0.0, high=6.0):
            "A smooth clip."
            return sigmoid_clip(x, low, high)

        x = np.linspace(-3, 3, 7).astype(np.float32)
        np.testing.assert_allclose(ExpressionClip(x, low=-1), sigmoid_clip(x, -1, 6), rtol=1e-5)
        self.assertEqual((ExpressionClip.name, ExpressionClip.doc), ("Test::ExpressionClip", "A smooth clip."))
        self.assertFalse(ExpressionClip.check(x, rules=QUICK).failed)

    def test_a_mistake_in_an_expression_has_its_column(self):
        @tenon.elementwise("x + * 2", domain="Test", directory=CACHE.name)
        def Mistaken(x):
            pass

        with self.assertRaisesRegex(tenon.Error, "column|character"):
            Mistaken([1.0])


class Example(unittest.TestCase):
    def test_the_example_runs_and_is_short(self):
        path = os.path.join(ROOT, "examples", "python", "soft_clip.py")
        with open(path) as file:
            self.assertLessEqual(len(file.read().splitlines()), 25)
        done = subprocess.run([sys.executable, path], env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "XDG_CACHE_HOME": CACHE.name},
                              text=True, capture_output=True, check=True)
        self.assertRegex(done.stdout, r"\d+ passed, 0 failed(.|\n)*compiled(.|\n)*\[")
