# SPDX-License-Identifier: Apache-2.0
"""The blocks of docs/python-debug.md, run one after the other as they stand there."""

import contextlib
import io
import os
import re
import tempfile
import unittest
from unittest import mock

ROOT = os.environ.get("TENON_SOURCE", os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.M | re.S)

try:
    import onnxruntime
except ImportError:
    onnxruntime = None


@unittest.skipIf(onnxruntime is None, "no onnxruntime")
class Document(unittest.TestCase):
    def test_every_block_runs(self):
        with open(os.path.join(ROOT, "docs", "python-debug.md"), encoding="utf-8") as file:
            blocks = BLOCK.findall(file.read())
        self.assertEqual(len(blocks), 3)
        names, here = {"__name__": "document"}, os.getcwd()
        self.addCleanup(os.chdir, here)
        with (tempfile.TemporaryDirectory() as folder, mock.patch.dict(os.environ, {"XDG_CACHE_HOME": folder}),
              contextlib.redirect_stdout(io.StringIO()) as printed):
            os.chdir(folder)
            for number, block in enumerate(blocks):
                exec(compile(block, f"<docs/python-debug.md, block {number + 1}>", "exec"), names)
            os.chdir(here)
        self.printed = printed.getvalue()
        self.assertRegex(self.printed, r"first node that differs: '.*' \(Mine::SoftClip, kernel compiled of SoftClip\), tensor 'b' of the reference: "
                         "64 of 128 elements")
        self.assertRegex(self.printed, r"(?m)^against onnxruntime: 3 tensors: 2 the same, 1 differ$")
        self.assertRegex(self.printed, r"(?m)^1 of 3 nodes are left, after \d+ tries: output 'b' differs from reference")
        if os.environ.get("TENON_SHOW"):
            print(self.printed)


if __name__ == "__main__":
    unittest.main()
