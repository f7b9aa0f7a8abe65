# SPDX-License-Identifier: Apache-2.0
"""The examples with PyTorch, and the blocks of docs/python-layers.md that need it."""

import os
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.M | re.S)


def run(code):
    """In a process and a folder of its own."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "program.py")
        with open(path, "w") as file:
            file.write(code)
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "XDG_CACHE_HOME": folder}
        done = subprocess.run([sys.executable, path], cwd=folder, env=environment, text=True, capture_output=True)
    if done.returncode:
        raise AssertionError(done.stderr)
    return done.stdout


class Examples(unittest.TestCase):
    def test_dynamic_resize_agrees_with_pytorch_on_one_page(self):
        with open(os.path.join(ROOT, "examples", "python", "dynamic_resize.py")) as file:
            code = file.read()
        self.assertLessEqual(len(code.splitlines()), 60)
        self.assertEqual(run(code), "the plan and PyTorch agree\n")

    def test_a_network_is_trained_around_a_layer(self):
        with open(os.path.join(ROOT, "examples", "python", "train_around_a_layer.py")) as file:
            printed = run(file.read())
        self.assertRegex(printed, r"^\d+\.\d% of the points are told apart by the plan\n$")
        self.assertGreater(float(printed.split("%")[0]), 97)

    def test_the_blocks_of_the_page_run(self):
        with open(os.path.join(ROOT, "docs", "python-layers.md")) as file:
            page = file.read()
        blocks = BLOCK.findall(page[page.index("\n## PyTorch\n"):])
        self.assertGreaterEqual(len(blocks), 4)
        run("import numpy as np\nimport tenon\n" + "".join(blocks))
