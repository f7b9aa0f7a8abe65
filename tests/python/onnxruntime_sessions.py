# SPDX-License-Identifier: Apache-2.0
"""tenon.onnxruntime beside onnxruntime: the same calls on both, the same results and names; and what wrong calls are told."""

import logging
import os
import subprocess
import sys
import tempfile
import threading
import unittest
import warnings
from unittest import mock

import numpy as np
import tenon
import tenon.onnxruntime as ours
from onnx import TensorProto, helper
from onnxruntime_networks import RANDOM, model, network_of_two_rates, open_network, unnamed_network
from tenon.onnxruntime.capi import onnxruntime_pybind11_state as errors

try:
    import onnxruntime as theirs
except ImportError:  # the tests say so
    theirs = None

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LENET = os.path.join(ROOT, "models", "lenet.onnx")
DIGIT = RANDOM.standard_normal((1, 1, 28, 28), np.float32)


def both(path_or_bytes):
    quiet = theirs.SessionOptions()
    quiet.log_severity_level = 4
    return ours.InferenceSession(path_or_bytes), theirs.InferenceSession(path_or_bytes, quiet, providers=["CPUExecutionProvider"])


@unittest.skipUnless(theirs, "onnxruntime is not installed")
class BesideOnnxruntime(unittest.TestCase):
    def compare(self, sessions, feed, names=None):
        results, wanted = (session.run(names, feed) for session in sessions)
        self.assertEqual(len(results), len(wanted))
        for result, other in zip(results, wanted):
            self.assertEqual((result.dtype, result.shape), (other.dtype, other.shape))
            if result.dtype == object:
                self.assertEqual(result.tolist(), other.tolist())
            else:
                np.testing.assert_allclose(result, other, rtol=1e-3, atol=1e-5)

    def test_computes_the_same_from_a_path_and_from_bytes(self):
        with open(LENET, "rb") as file:
            data = file.read()
        for model_of in LENET, data:
            for names in None, [], ["output"]:
                self.compare(both(model_of), {"input": DIGIT}, names)

    def test_describes_inputs_and_outputs_alike(self):
        types = ("FLOAT", "DOUBLE", "FLOAT16", "BFLOAT16", "INT64", "INT32", "INT16", "INT8", "UINT64", "UINT32", "UINT16", "UINT8",
                 "BOOL", "STRING")
        names = [f"x{i}" for i in range(len(types))]
        sessions = both(model([helper.make_node("Identity", [name], [f"y{name}"]) for name in names],
                              [(name, getattr(TensorProto, t), ["n", 3, None]) for name, t in zip(names, types)],
                              [(f"y{name}", getattr(TensorProto, t), ["n", 3, "w"]) for name, t in zip(names, types)]))
        for ports in zip(*(session.get_inputs() for session in sessions)):
            self.assertEqual(*((port.name, port.type, port.shape) for port in ports))
        for ports in zip(*(session.get_outputs() for session in sessions)):
            self.assertEqual(*((port.name, port.type, port.shape) for port in ports))

    def test_takes_nested_lists_strings_and_scalars(self):
        sessions = both(model([helper.make_node("Add", ["x", "x"], ["y"]), helper.make_node("Identity", ["s"], ["t"]),
                               helper.make_node("Identity", ["f"], ["g"])],
                              [("x", TensorProto.INT32, ["n", 2]), ("s", TensorProto.STRING, [2]), ("f", TensorProto.DOUBLE, [1])],
                              [("y", TensorProto.INT32, None), ("t", TensorProto.STRING, None), ("g", TensorProto.DOUBLE, None)]))
        self.compare(sessions, {"x": [[1, 2], [3, 4], [5, 6]], "s": ["a", "b\u00e9"], "f": [2.5]})
        self.compare(sessions, {"x": np.int32([[1, 2]]), "s": np.array(["a", "b"], object), "f": np.array([2.5])})

    def test_runs_free_extents_at_any_size(self):
        sessions = both(model([helper.make_node("Conv", ["x", "w"], ["c"], pads=[1, 1, 1, 1]), helper.make_node("Relu", ["c"], ["r"]),
                               helper.make_node("AveragePool", ["r"], ["y"], kernel_shape=[2, 2], strides=[2, 2])],
                              [("x", TensorProto.FLOAT, ["n", 3, "h", None])], [("y", TensorProto.FLOAT, None)],
                              [("w", RANDOM.standard_normal((6, 3, 3, 3), np.float32))]))
        for batch, height, width in ((1, 31, 40), (1, 31, 40), (2, 8, 9), (1, 64, 20), (5, 31, 40)):
            self.compare(sessions, {"x": RANDOM.random((batch, 3, height, width), np.float32)})

    def test_runs_shapes_that_only_a_run_knows(self):
        sessions = both(open_network())
        for rows, times in ((3, 2), (3, 2), (3, 2), (5, 2), (5, 1), (2, 7), (3, 2), (1, 1)):
            self.compare(sessions, {"x": RANDOM.standard_normal((rows, 6), np.float32), "times": np.array([times, 1])})

    def test_builds_once_for_a_condition_between_two_networks(self):
        sessions = both(network_of_two_rates())
        networks = sessions[0]._networks
        with mock.patch.object(networks, "_build", side_effect=networks._build) as build:
            for rows, rate in ((3, 16000), (3, 16000), (3, 8000), (2, 16000), (5, 8000), (3, 16000), (3, 16000)):
                self.compare(sessions, {"x": RANDOM.standard_normal((rows, 6), np.float32), "rate": np.array(rate)})
            self.assertEqual((build.call_count, len(networks._ranged)), (2, 2))  # of three rows, and of a range

    def test_builds_for_a_size_of_images_that_comes_back(self):
        nodes = [helper.make_node("Conv", ["x", "w"], ["c"], pads=[1, 1, 1, 1]), helper.make_node("Relu", ["c"], ["y"])]
        weights = [("w", RANDOM.standard_normal((6, 3, 3, 3), np.float32))]
        image = model(nodes, [("x", TensorProto.FLOAT, ["n", 3, "h", "w"])], [("y", TensorProto.FLOAT, None)], weights)
        batch = model(nodes, [("x", TensorProto.FLOAT, ["n", 3, 8, 8])], [("y", TensorProto.FLOAT, None)], weights)
        row = model([helper.make_node("Relu", ["x"], ["y"])], [("x", TensorProto.FLOAT, ["n", "w"])], [("y", TensorProto.FLOAT, None)])
        for whole, shapes, builds in ((image, [(1, 3, 8, 8)] * 9, 1), (image, [(1, 3, 8, 8), (1, 3, 8, 9)] * 9, 0),
                                      (image, [(1, 3, 8, k) for k in range(8, 20) for _ in range(10)], 8), (batch, [(2, 3, 8, 8)] * 9, 0),
                                      (row, [(2, 3)] * 9, 0)):
            sessions = both(whole)
            networks = sessions[0]._networks
            with mock.patch.object(networks, "_build", side_effect=networks._build) as build:
                for shape in shapes:
                    self.compare(sessions, {"x": RANDOM.standard_normal(shape, np.float32)})
                self.assertEqual((build.call_count, len(networks._ranged)), (builds, min(builds, 4)))

    def test_threads_run_while_one_builds_for_a_size(self):
        session = both(model([helper.make_node("Conv", ["x", "w"], ["y"])], [("x", TensorProto.FLOAT, ["n", 3, "h", "w"])],
                             [("y", TensorProto.FLOAT, None)], [("w", RANDOM.standard_normal((6, 3, 3, 3), np.float32))]))[0]
        networks, feed, others = session._networks, {"x": RANDOM.standard_normal((1, 3, 8, 8), np.float32)}, []
        build = networks._build

        def build_slowly(*shapes):
            other = threading.Thread(target=lambda: others.append(session.run(None, feed)[0]))
            other.start()
            other.join()  # which would not end if it waited for this build
            return build(*shapes)

        with mock.patch.object(networks, "_build", side_effect=build_slowly):
            results = [session.run(None, feed)[0] for _ in range(9)]
        self.assertEqual((len(others), len(networks._ranged)), (1, 1))
        for result in results + others:
            np.testing.assert_allclose(result, results[0], rtol=1e-5, atol=1e-6)

    def test_gives_up_where_no_build_knows_the_shapes(self):
        sessions = both(model([helper.make_node("NonZero", ["x"], ["n"]), helper.make_node("Cast", ["n"], ["f"], to=TensorProto.FLOAT),
                               helper.make_node("Exp", ["f"], ["y"])],
                              [("x", TensorProto.FLOAT, [None])], [("y", TensorProto.FLOAT, None)]))
        networks, counts = sessions[0]._networks, []
        build = networks._build
        with mock.patch.object(networks, "_build", side_effect=lambda *shapes: counts.append(shapes) or build(*shapes)):
            for count in list(range(1, 12)) * 3:
                self.compare(sessions, {"x": RANDOM.standard_normal(count, np.float32)})
            self.assertLessEqual(len(counts), 3 * 4)  # three builds an attempt
            self.assertIsNone(networks._build)

    def test_runs_lists_whose_sizes_only_a_run_knows(self):
        sessions = both(model([helper.make_node("SplitToSequence", ["x", "sizes"], ["s"]), helper.make_node("SequenceLength", ["s"], ["y"]),
                               helper.make_node("SequenceAt", ["s", "index"], ["z"])],
                              [("x", TensorProto.FLOAT, ["n"]), ("sizes", TensorProto.INT64, [3]), ("index", TensorProto.INT64, [])],
                              [("y", TensorProto.INT64, []), ("z", TensorProto.FLOAT, None)]))
        for sizes in (1, 2, 3), (4, 1, 1):
            self.compare(sessions, {"x": np.arange(6, dtype=np.float32), "sizes": np.int64(sizes), "index": np.array(1)})

    def test_runs_extents_that_cannot_be_guessed(self):
        sessions = both(unnamed_network())
        for batch, width in ((1, 20), (1, 20), (1, 24), (1, 24), (3, 24), (2, 30), (2, 300), (1, 20)):
            self.compare(sessions, {"x": RANDOM.standard_normal((batch, 2, 12, width), np.float32)})

    def test_has_the_names_and_defaults_of_options(self):
        for name in "SessionOptions", "RunOptions":
            mine, other = getattr(ours, name)(), getattr(theirs, name)()
            for attribute in [a for a in dir(other) if not a.startswith("_")]:
                self.assertTrue(hasattr(mine, attribute), attribute)
                value = getattr(other, attribute)
                if not callable(value):
                    mine_value = getattr(mine, attribute)
                    self.assertEqual(getattr(mine_value, "name", mine_value), getattr(value, "name", value), attribute)

    def test_has_the_methods_of_sessions_values_and_bindings(self):
        left_out = {"get_input_epdevices", "get_input_memory_infos", "get_output_memory_infos", "get_provider_graph_assignment_info",
                    "release_captured_graph", "create_ortvalue_from_shape_and_type"}
        for name in "InferenceSession", "OrtValue", "IOBinding", "OrtDevice", "NodeArg", "ModelMetadata":
            there = {method for method in dir(getattr(theirs, name)) if not method.startswith("_")}
            instance = both(LENET)[0].get_modelmeta() if name == "ModelMetadata" else getattr(ours, name)
            self.assertLessEqual(there - left_out, set(dir(instance)), name)

    def test_has_the_exceptions(self):
        from onnxruntime.capi import onnxruntime_pybind11_state as their_errors
        for name in dir(their_errors):
            kind = getattr(their_errors, name)
            if isinstance(kind, type) and issubclass(kind, Exception):
                self.assertTrue(issubclass(getattr(errors, name), tenon.Error), name)
                self.assertEqual(getattr(errors, name).__name__, name)


class Sessions(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.session = ours.InferenceSession(LENET)
        cls.wanted = cls.session.run(None, {"input": DIGIT})[0]

    def test_binds_inputs_and_outputs(self):
        binding = self.session.io_binding()
        memory = np.empty((1, 10), np.float32)
        for bind in (lambda: binding.bind_output("output"), lambda: binding.bind_ortvalue_output("output", ours.OrtValue.ortvalue_from_numpy(memory)),
                     lambda: binding.bind_output("output", "cpu", 0, np.float32, (1, 10), memory.ctypes.data)):
            for bind_input in (lambda: binding.bind_cpu_input("input", DIGIT),
                               lambda: binding.bind_ortvalue_input("input", ours.OrtValue.ortvalue_from_numpy(DIGIT)),
                               lambda: binding.bind_input("input", "cpu", 0, 1, DIGIT.shape, DIGIT.ctypes.data)):
                memory[:] = 0
                binding.clear_binding_inputs()
                binding.clear_binding_outputs()
                bind_input()
                bind()
                self.session.run_with_iobinding(binding)
                np.testing.assert_array_equal(binding.copy_outputs_to_cpu()[0], self.wanted)
                np.testing.assert_array_equal(binding.get_outputs()[0].numpy(), self.wanted)
        np.testing.assert_array_equal(memory, self.wanted)

    def test_values_know_what_they_are(self):
        value = ours.OrtValue.ortvalue_from_numpy(DIGIT)
        self.assertEqual((value.shape(), value.element_type(), value.data_type(), value.device_name(), value.tensor_size_in_bytes()),
                         ([1, 1, 28, 28], 1, "tensor(float)", "cpu", DIGIT.nbytes))
        self.assertEqual(value.data_ptr(), DIGIT.ctypes.data)  # shared, not copied
        made = ours.OrtValue.ortvalue_from_shape_and_type([2, 3], np.int64)
        made.update_inplace(np.arange(6).reshape(2, 3))
        self.assertEqual((made.numpy().tolist(), made.data_type()), ([[0, 1, 2], [3, 4, 5]], "tensor(int64)"))
        halves = ours.OrtValue.ortvalue_from_numpy_with_onnx_type(np.uint16([0x3c00]), TensorProto.FLOAT16)
        self.assertEqual((halves.element_type(), halves.numpy().tolist()), (TensorProto.FLOAT16, [1.0]))
        np.testing.assert_array_equal(np.from_dlpack(value), DIGIT)
        for result in self.session.run_with_ort_values(["output"], {"input": value}):
            np.testing.assert_array_equal(result.numpy(), self.wanted)

    def test_runs_on_threads_and_calls_back(self):
        results, done = [], threading.Event()

        def work():
            results.extend(self.session.run(None, {"input": DIGIT})[0] for _ in range(20))
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for result in results:
            np.testing.assert_array_equal(result, self.wanted)
        told = []

        def call_back(*arguments):
            told.append(arguments)
            done.set()
        for feed in {"input": DIGIT}, {"input": DIGIT[0]}:
            done.clear()
            self.session.run_async(None, feed, call_back, "mine")
            self.assertTrue(done.wait(20))
        np.testing.assert_array_equal(told[0][0][0], self.wanted)
        self.assertEqual(told[0][1:], ("mine", ""))
        self.assertEqual(told[1][0], [])
        self.assertIn("[1, 28, 28]", told[1][2])

    def test_says_what_the_file_says(self):
        data = model([helper.make_node("Relu", ["x"], ["y"])], [("x", TensorProto.FLOAT, [2])], [("y", TensorProto.FLOAT, [2])],
                     metadata={"labels": "cat,dog"})
        meta = ours.InferenceSession(data).get_modelmeta()
        self.assertEqual((meta.custom_metadata_map, meta.producer_name, meta.graph_name), ({"labels": "cat,dog"}, "the tests", "test"))

    def test_runs_plans_and_entries(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "lenet.plan")
            tenon.build(LENET, timing=False).save(path)
            np.testing.assert_allclose(ours.InferenceSession(path).run(None, {"input": DIGIT})[0], self.wanted, rtol=1e-5)
        options = ours.SessionOptions()
        options.add_session_config_entry("tenon.timing_seconds", "0.05")
        options.add_free_dimension_override_by_name("batch", 1)
        options.intra_op_num_threads = 1
        options.graph_optimization_level = ours.GraphOptimizationLevel.ORT_DISABLE_ALL
        session = ours.InferenceSession(LENET, options)
        np.testing.assert_allclose(session.run(None, {"input": DIGIT})[0], self.wanted, rtol=1e-4)
        with self.assertRaises(errors.InvalidArgument):  # the batch is fixed
            session.run(None, {"input": np.repeat(DIGIT, 2, 0)})

    def test_writes_a_profile(self):
        with tempfile.TemporaryDirectory() as folder:
            options = ours.SessionOptions()
            options.enable_profiling = True
            options.profile_file_prefix = os.path.join(folder, "profile_")
            session = ours.InferenceSession(LENET, options)
            session.run(None, {"input": DIGIT})
            with open(session.end_profiling(), encoding="utf-8") as file:
                self.assertIn("model_run", file.read())
        self.assertEqual(self.session.end_profiling(), "")

    def test_knows_providers(self):
        self.assertIn("CPUExecutionProvider", ours.get_available_providers())
        for providers in None, ["CPUExecutionProvider"], [("CPUExecutionProvider", {"arena_extend_strategy": "kSameAsRequested"})], []:
            self.assertEqual(ours.InferenceSession(LENET, providers=providers).get_providers()[-1], "CPUExecutionProvider")
        options = ours.InferenceSession(LENET, providers=["CPUExecutionProvider"], provider_options=[{"a": 1}]).get_provider_options()
        self.assertEqual(options, {"CPUExecutionProvider": {"a": "1"}})
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            ours.InferenceSession(LENET, providers=["QuantumExecutionProvider"])
        self.assertIn("QuantumExecutionProvider", str(caught[0].message))

    def test_sets_the_level_of_the_log(self):
        logger = logging.getLogger("tenon")
        before = logger.level
        ours.set_default_logger_severity(3)
        self.assertEqual(logger.level, logging.ERROR)
        logger.setLevel(before)
        ours.disable_telemetry_events()


class Errors(unittest.TestCase):
    def refused(self, kind, *parts):
        test = self

        class Checked:
            def __enter__(self):
                self.context = test.assertRaises(kind)
                self.raised = self.context.__enter__()

            def __exit__(self, *information):
                answer = self.context.__exit__(*information)
                for part in parts:
                    test.assertIn(part, str(self.raised.exception))
                return answer
        return Checked()

    def test_wrong_inputs(self):
        session = ours.InferenceSession(LENET)
        for kind, feed, parts in ((ValueError, {}, ["input", "missing"]),
                                  (errors.InvalidArgument, {"input": DIGIT, "bad": DIGIT}, ["'bad'", "input"]),
                                  (errors.InvalidArgument, {"input": DIGIT.astype(np.float64)}, ["'input'", "float64", "float32"]),
                                  (errors.InvalidArgument, {"input": DIGIT[0]}, ["'input'", "[1, 28, 28]", "[?, 1, 28, 28]"]),
                                  (errors.InvalidArgument, {"input": DIGIT[:, :, 1:]}, ["'input'", "[1, 1, 27, 28]"]),
                                  (errors.InvalidArgument, {"input": None}, ["'input'", "None"]),
                                  (errors.InvalidArgument, {"input": "text"}, ["'input'", "str", "float32"]),
                                  (errors.InvalidArgument, {"input": [[1, 2], [3]]}, ["'input'", "list"])):
            with self.refused(kind, *parts):
                session.run(None, feed)
        with self.refused(errors.InvalidArgument, "'other'", "output"):
            session.run(["other"], {"input": DIGIT})
        with self.refused(TypeError, "['output']"):
            session.run("output", {"input": DIGIT})
        options = ours.RunOptions()
        options.terminate = True
        with self.refused(errors.Fail, "terminate"):
            session.run(None, {"input": DIGIT}, options)

    def test_wrong_models(self):
        unknown = model([helper.make_node("Rleu", ["x"], ["y"])], [("x", TensorProto.FLOAT, [2])], [("y", TensorProto.FLOAT, [2])])
        wrong = model([helper.make_node("MatMul", ["x", "x"], ["y"])], [("x", TensorProto.FLOAT, [2, 3])], [("y", TensorProto.FLOAT, None)])
        for kind, given, part in ((errors.NoSuchFile, "missing.onnx", "missing.onnx"), (errors.InvalidProtobuf, b"abc", "format"),
                                  (errors.NotImplemented, unknown, "Relu"), (errors.InvalidGraph, wrong, "MatMul"), (TypeError, 3, "int")):
            with self.refused(kind, part):
                ours.InferenceSession(given)
        with self.assertRaises(tenon.Error) as caught:
            ours.InferenceSession(wrong)
        self.assertEqual(caught.exception.code, "TN_ERROR_SHAPE")

    def test_wrong_options(self):
        options = ours.SessionOptions()
        for kind, call, part in (
                (AttributeError, lambda: setattr(options, "threads", 2), "intra_op_num_threads"),
                (TypeError, lambda: setattr(options, "intra_op_num_threads", "2"), "int"),
                (RuntimeError, lambda: options.get_session_config_entry("missing"), "missing"),
                (TypeError, lambda: options.add_session_config_entry("a", 3), "3"),
                (errors.InvalidArgument, lambda: options.add_session_config_entry("tenon.seconds", "3"), "tenon.timing_seconds"),
                (errors.InvalidArgument, lambda: options.add_free_dimension_override_by_name("n", -1), "-1"),
                (errors.NotImplemented, lambda: options.register_custom_ops_library("libmine.so"), "tenon.plugins"),
                (ValueError, lambda: ours.InferenceSession(LENET, providers=["CPUExecutionProvider"], provider_options=[{}, {}]), "2 dicts"),
                (ValueError, lambda: ours.InferenceSession(LENET, providers="CPUExecutionProvider"), "list"),
                (AttributeError, lambda: ours.InferencSession, "InferencSession"),
                (errors.RuntimeException, lambda: ours.OrtValue.ortvalue_from_numpy(DIGIT, "cuda", 0), "cuda"),
                (TypeError, lambda: ours.OrtValue.ortvalue_from_shape_and_type([1], 99), "99")):
            with self.refused(kind, part):
                call()

    def test_wrong_bindings(self):
        session = ours.InferenceSession(LENET)
        binding = session.io_binding()
        for kind, call, part in ((RuntimeError, lambda: binding.bind_cpu_input("x", DIGIT), "input"),
                                 (RuntimeError, lambda: binding.bind_output("y"), "output"),
                                 (RuntimeError, lambda: session.run_with_iobinding(binding), "bind_output")):
            with self.refused(kind, part):
                call()
        binding.bind_cpu_input("input", DIGIT)
        binding.bind_ortvalue_output("output", ours.OrtValue.ortvalue_from_shape_and_type([1, 9], np.float32))
        with self.refused(errors.InvalidArgument, "[1, 10]", "[1, 9]"):
            session.run_with_iobinding(binding)


class Programs(unittest.TestCase):
    def run_program(self, *words):
        environment = {**os.environ, "PYTHONPATH": os.path.dirname(os.path.dirname(os.path.abspath(tenon.__file__)))}
        return subprocess.run([sys.executable, "-m", "tenon.onnxruntime", *words], env=environment, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, check=False)

    def test_replaces_onnxruntime(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "program.py")
            with open(path, "w", encoding="utf-8") as file:
                file.write("import sys, beside\nimport onnxruntime as rt\nfrom onnxruntime.capi.onnxruntime_pybind11_state import Fail\n"
                           "import onnxruntime.capi.onnxruntime_inference_collection as c\n"
                           "print(rt.InferenceSession.__module__, issubclass(Fail, Exception), c.InferenceSession is rt.InferenceSession,"
                           " __name__, sys.argv[1:], beside.x)\n")
            with open(os.path.join(folder, "beside.py"), "w", encoding="utf-8") as file:
                file.write("x = 5\n")
            done = self.run_program(path, "a", "-b")
            self.assertEqual((done.stdout, done.stderr), ("tenon.onnxruntime._session True True __main__ ['a', '-b'] 5\n", ""))

    def test_says_what_is_wanted(self):
        self.assertIn("PROGRAM.py", self.run_program().stderr)
        self.assertIn("missing.py", self.run_program("missing.py").stderr)
