# SPDX-License-Identifier: Apache-2.0
"""The blocks of docs/python.md, run one after the other as they stand there, in a folder with a small model."""

import contextlib
import io
import os
import re
import tempfile
import unittest

from models import small_convolution

ROOT = os.environ.get("TENON_SOURCE", os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.M | re.S)


class Document(unittest.TestCase):
    def test_every_block_runs(self):
        with open(os.path.join(ROOT, "docs", "python.md"), encoding="utf-8") as file:
            page = file.read()
        blocks = [(page.count("\n", 0, match.start()) + 2, match[1]) for match in BLOCK.finditer(page)]
        self.assertGreater(len(blocks), 8)
        names, folder = {"__name__": "document"}, os.getcwd()
        with tempfile.TemporaryDirectory() as inside, contextlib.redirect_stdout(io.StringIO()):
            os.chdir(inside)
            try:
                with open("model.onnx", "wb") as file:
                    file.write(small_convolution().SerializeToString())
                for line, block in blocks:
                    exec(compile("\n" * (line - 1) + block, "docs/python.md", "exec"), names)
            finally:
                os.chdir(folder)


if __name__ == "__main__":
    unittest.main()
