# SPDX-License-Identifier: Apache-2.0
"""The examples of docs/python-layers.md but those with PyTorch, run as they stand there, one after another."""

import contextlib
import io
import linecache
import logging
import os
import re
import tempfile
import unittest
import warnings
from unittest import mock

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.M | re.S)


class Document(unittest.TestCase):
    def test_each_example_runs(self):
        with open(os.path.join(ROOT, "docs", "python-layers.md")) as file:
            page = file.read()
        blocks = BLOCK.findall(page[:page.index("\n## PyTorch\n")])  # the others: pytorch/test_examples.py
        self.assertGreaterEqual(len(blocks), 6)
        here, names = os.getcwd(), {"__name__": "document"}
        self.addCleanup(os.chdir, here)
        logging.getLogger("tenon").disabled = True
        self.addCleanup(setattr, logging.getLogger("tenon"), "disabled", False)
        with (tempfile.TemporaryDirectory() as folder, mock.patch.dict(os.environ, {"XDG_CACHE_HOME": folder}), warnings.catch_warnings(),
              contextlib.redirect_stdout(io.StringIO()) as printed):
            warnings.simplefilter("ignore", RuntimeWarning)
            os.chdir(folder)
            for number, block in enumerate(blocks):
                name = f"<example {number + 1}>"
                linecache.cache[name] = (len(block), None, block.splitlines(True), name)
                with self.subTest(block):
                    exec(compile(block, name, "exec"), names)
            os.chdir(here)
        self.assertRegex(printed.getvalue(), r"\d+ passed, 0 failed")
