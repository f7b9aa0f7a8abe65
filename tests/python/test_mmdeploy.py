# SPDX-License-Identifier: Apache-2.0
"""tenon.mmdeploy, by examples/python/dynamic_resize: a plugin's resize in a network that is run at several sizes."""

import glob
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

import numpy as np
import tenon
from tenon import mmdeploy

ROOT = os.environ.get("TENON_SOURCE", os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
PLUGIN = os.path.join(ROOT, "examples", "dynamic_resize", "dynamic_resize.c")


class DynamicResize(unittest.TestCase):
    @unittest.skipUnless(os.path.exists(PLUGIN) and shutil.which("cc"), "the plugin's source or a compiler is not here")
    def test_example_gives_the_reference_values_at_each_size(self):
        example = os.path.join(ROOT, "examples", "python", "dynamic_resize", "dynamic_resize.py")
        reference = os.path.join(ROOT, "models", "reference")
        with tempfile.TemporaryDirectory() as folder:
            library, image = os.path.join(folder, "libdynamic_resize.so"), os.path.join(reference, "srcnn_image.npy")
            subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-I", tenon.get_include(), PLUGIN, "-o", library, "-lm"], check=True)
            sizes = sorted(glob.glob(os.path.join(reference, "srcnn_size_*.npy")))
            self.assertEqual(len(sizes), 3)
            done = subprocess.run([sys.executable, example, os.path.join(ROOT, "models", "srcnn_dynamic.onnx"), library, image, folder,
                                   *sizes], capture_output=True, text=True,
                                  env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)})
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("Test::DynamicTRTResize", done.stdout)
            for size in sizes:
                expected = np.load(size.replace("_size_", "_output_"))
                np.testing.assert_allclose(np.load(os.path.join(folder, os.path.basename(size))), expected, rtol=1e-3, atol=1e-5)

    def test_says_what_is_there(self):
        self.assertTrue(mmdeploy.is_available())
        self.assertFalse(mmdeploy.is_available("tpu"))
        self.assertIsInstance(mmdeploy.plugin_list(), list)


if __name__ == "__main__":
    unittest.main()
