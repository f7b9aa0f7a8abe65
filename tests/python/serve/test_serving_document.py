# SPDX-License-Identifier: Apache-2.0
"""The blocks of docs/serving.md as they stand there: the command, the client, the settings file."""

import os
import re
import shlex
import sys
import tempfile
import textwrap
import unittest

import numpy as np
import serve_nets
import tenon
from server import Server
from tenon.serve._settings import read_file

ROOT = os.environ.get("TENON_SOURCE", os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))))
BLOCK = re.compile(r"(?:^(?: {4}.*)?\n)+", re.M)


class Document(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with open(os.path.join(ROOT, "docs", "serving.md"), encoding="utf-8") as file:
            cls.blocks = [textwrap.dedent(block).strip("\n") for block in BLOCK.findall(file.read()) if block.strip()]
        cls.folder = cls.enterClassContext(tempfile.TemporaryDirectory())
        graph = tenon.Graph()
        graph.output(graph.input("input", "f32", (1, 4)) * 2.0, "output")
        graph.build(timing=False).save(os.path.join(cls.folder, "net.plan"))

    def test_the_command_and_the_client(self):
        block = next(block for block in self.blocks if "tritonclient" in block)
        command, client = block.split("\n\n")
        line = next(line for line in command.splitlines() if line.startswith("tenon-serve"))
        arguments = [word.replace("net.plan", os.path.join(self.folder, "net.plan")) if word.startswith("model=") else word
                     for word in shlex.split(line, comments=True)[1:]]
        program = os.path.join(os.path.dirname(sys.executable), "tenon-serve")  # where the package is installed
        with Server(*arguments, program=[program] if os.path.exists(program) else None) as server:
            names = {"image": np.ones((1, 4), np.float32)}
            exec(client.replace("127.0.0.1:8080", f"127.0.0.1:{server.http_port}"), names)
            np.testing.assert_array_equal(names["y"], 2 * names["image"])

    def test_the_settings_file(self):
        block = next(block for block in self.blocks if "serve.toml" in block)
        path = os.path.join(self.folder, "serve.toml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(block)
        for name in ("libraries", "detector/1"):
            os.makedirs(os.path.join(self.folder, name), exist_ok=True)
        serve_nets.scale(os.path.join(self.folder, "lenet.plan"), 2.0)
        serve_nets.scale(os.path.join(self.folder, "detector/1/net.plan"), 3.0)
        settings = read_file(path).check()
        self.assertEqual([model.name for model in settings.models], ["digits", "detector"])
        with Server("--settings", path) as server:
            self.assertEqual([server.ask("http", np.ones((1, 4), np.float32), name=name)[0, 0] for name in ("digits", "detector")], [2, 3])


if __name__ == "__main__":
    unittest.main()
