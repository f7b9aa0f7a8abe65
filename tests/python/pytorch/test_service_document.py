# SPDX-License-Identifier: Apache-2.0
"""docs/pytorch-to-service.md as its reader follows it: each file that it shows, and each command, in order."""

import contextlib
import os
import re
import shlex
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.environ.get("TENON_SOURCE", os.path.dirname(os.path.dirname(os.path.dirname(HERE))))
sys.path.append(os.path.join(os.path.dirname(HERE), "serve"))

try:
    from server import Server
except ImportError as reason:
    raise unittest.SkipTest(f"no client of the service: {reason}") from None

FILE = re.compile(r"`(\w+\.py)`:\n\n```python\n(.*?)^```$", re.M | re.S)
COMMAND = re.compile(r"^    ((?:python|curl|tenon-serve) .*)$", re.M)
PORTS = {"http_port": "8080", "metrics_port": "8082"}


class Document(unittest.TestCase):
    def setUp(self):
        with open(os.path.join(ROOT, "docs", "pytorch-to-service.md"), encoding="utf-8") as file:
            self.page = file.read()
        self.folder = self.enterContext(tempfile.TemporaryDirectory())
        self.environment = {**os.environ, "PYTHONPATH": os.pathsep.join([self.folder, *sys.path]), "XDG_CACHE_HOME": self.folder}
        self.server = None

    def at_its_ports(self, text):
        """The page's with the ports that this server has."""
        for name, port in PORTS.items():
            text = text.replace("127.0.0.1:" + port, f"127.0.0.1:{getattr(self.server, name)}") if self.server else text
        return text

    def run_command(self, line):
        words = shlex.split(self.at_its_ports(line))
        if words[0] == "python":
            if words[1] == "client.py":
                with open(os.path.join(self.folder, "client.py"), "w", encoding="utf-8") as file:
                    file.write(self.at_its_ports(self.files["client.py"]))
            words[0] = sys.executable
        else:
            words[1:1] = ["--silent", "--show-error", "--fail"]
        done = subprocess.run(words, cwd=self.folder, env=self.environment, text=True, capture_output=True, timeout=300)
        self.assertEqual(done.returncode, 0, f"{line}\n{done.stdout}{done.stderr}")
        return done.stdout

    def test_each_command_in_order(self):
        self.files = dict(FILE.findall(self.page))
        self.assertEqual(sorted(self.files), ["client.py", "convert.py", "model.py"])
        for name, text in self.files.items():
            with open(os.path.join(self.folder, name), "w", encoding="utf-8") as file:
                file.write(text)
        commands = COMMAND.findall(self.page)
        self.assertEqual(len(commands), 9)
        printed = []
        with contextlib.ExitStack() as stack:
            for line in commands:
                if line.startswith("tenon-serve "):
                    arguments = [word.replace("=", "=" + self.folder + "/") for word in shlex.split(line)[1:]]
                    self.server = stack.enter_context(Server(*arguments))
                else:
                    printed.append(self.run_command(line))
        first, inspected, asked, second, loaded, again, ready, metrics = printed + [""] * (8 - len(printed))
        self.assertRegex(first, r"^version 1: \d+% of the pictures are told right\n$")
        self.assertIn("image", inspected)
        self.assertIn("output0", inspected)
        self.assertRegex(asked, r"^version 1: ")
        self.assertRegex(second, r"^version 2: ")
        self.assertRegex(again, r"^version 2: ")
        self.assertGreater(int(re.search(r"(\d+)%", again)[1]), max(80, int(re.search(r"(\d+)%", asked)[1])))
        self.assertIn('tenon_requests_total{model="stripes",', metrics)


if __name__ == "__main__":
    unittest.main()
