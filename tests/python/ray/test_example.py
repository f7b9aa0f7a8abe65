# SPDX-License-Identifier: Apache-2.0
"""examples/scale_out: a folder of images on several nodes; killed, and gone on with; files that are no images."""

import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import numpy as np
import tenon
from PIL import Image

ROOT = os.environ.get("TENON_SOURCE", os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))))
PACKAGE = os.path.dirname(os.path.dirname(tenon.__file__))
IMAGES = 300  # more than workers do before they hear that their driver was killed
MODEL = os.path.join(ROOT, "models", "srcnn_resize.onnx")


class Enlarge(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = cls.enterClassContext(tempfile.TemporaryDirectory())
        cls.images, cls.results, cls.plan = (os.path.join(cls.folder, name) for name in ("images", "results", "srcnn.plan"))
        os.mkdir(cls.images)
        cls.network = tenon.load(MODEL, shapes={"image": [(1, 3, 16, 16), (1, 3, 64, 64), (1, 3, 96, 96)],
                                                "size": [(1, 1, 16, 16), (1, 1, 128, 128), (1, 1, 192, 192)]}, timing=False, threads=1)
        cls.network.save(cls.plan)
        random = np.random.default_rng(0)
        for i in range(IMAGES):
            pixels = random.integers(0, 256, (40 + i % 3, 48, 3), np.uint8)
            Image.fromarray(pixels).save(os.path.join(cls.images, f"{i:03}.png"))

    def command_line(self):
        return [sys.executable, os.path.join(ROOT, "examples", "scale_out", "enlarge.py"), self.images, self.results, "--plan", self.plan,
                "--nodes", "2"]

    def command(self, **options):
        return subprocess.Popen(self.command_line(), text=True, env={**os.environ, "PYTHONPATH": PACKAGE, "RAY_worker_niceness": "0"},
                                **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options})

    def written(self):
        """{name: (when, values)} of results, each of which is whole: decoding one that is cut raises."""
        found = {}
        for name in self.done():
            path = os.path.join(self.results, name)
            found[name] = os.stat(path).st_mtime_ns, np.asarray(Image.open(path)).copy()
        return found

    def done(self):
        return sorted(name for name in os.listdir(self.results) if name.endswith(".png")) if os.path.isdir(self.results) else []

    def test_a_run_that_is_killed_is_gone_on_with(self):
        errors = self.enterContext(tempfile.TemporaryFile("w+"))  # no pipe: what the killed program leaves behind must not hold it open
        first = self.command(stdout=subprocess.DEVNULL, stderr=errors)
        ends = time.monotonic() + 240
        while len(self.done()) < 5 and first.poll() is None and time.monotonic() < ends:
            time.sleep(0.01)
        first.send_signal(signal.SIGKILL)
        first.wait()
        time.sleep(5)  # its workers end when they hear of it
        errors.seek(0)
        before = self.written()
        self.assertGreaterEqual(len(before), 5, errors.read())
        self.assertLess(len(before), IMAGES, "it was killed too late")
        with open(os.path.join(self.results, "299.png.node.1.part"), "wb") as file:  # as of a worker that was killed within it
            file.write(b"half")
        with open(os.path.join(self.images, "broken.png"), "wb") as file:
            file.write(b"no image")
        Image.fromarray(np.zeros((200, 200, 3), np.uint8)).save(os.path.join(self.images, "large.png"))
        second = self.command()
        text, errors = second.communicate(timeout=400)
        self.assertEqual(second.returncode, 1, text + errors)
        left = int(text.split(" images, ")[1].split()[0])
        self.assertGreaterEqual(left, len(before))  # its workers may have written more before they ended
        self.assertIn(f"{IMAGES + 2 - left}/{IMAGES + 2 - left}", text)
        self.assertIn("broken.png: cannot identify image file", errors)
        self.assertRegex(errors, r"large.png: .*shape")
        self.assertEqual(self.done(), [f"{i:03}.png" for i in range(IMAGES)])
        after = self.written()
        self.assertEqual([name for name in before if after[name][0] != before[name][0]], [], "done again")
        self.assertEqual([name for name in os.listdir(self.results) if not name.endswith(".png")], [], "left behind")
        for i in range(IMAGES):
            image = np.asarray(Image.open(os.path.join(self.images, f"{i:03}.png")), np.float32).transpose(2, 0, 1)[None] / 255
            wanted = self.network({"image": image, "size": np.zeros((1, 1, image.shape[2] * 2, image.shape[3] * 2), np.float32)})[0]
            got = after[f"{i:03}.png"][1].transpose(2, 0, 1)
            np.testing.assert_allclose(got, np.clip(wanted, 0, 1) * 255, atol=0.51)

    def test_two_images_with_one_result_are_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in ("a.png", "a.jpg"):
                with open(os.path.join(folder, name), "wb"):
                    pass
            ended = subprocess.run([*self.command_line()[:2], folder, os.path.join(folder, "results"), "--plan", self.plan], capture_output=True, text=True,
                                   env={**os.environ, "PYTHONPATH": PACKAGE}, timeout=300, check=False)
        self.assertEqual(ended.returncode, 1)
        self.assertRegex(ended.stderr, r"a.jpg and .*a.png would both be written to .*a.png: give one another name")


if __name__ == "__main__":
    unittest.main()
