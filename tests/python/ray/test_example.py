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
IMAGES = 60
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
            Image.fromarray(pixels).save(os.path.join(cls.images, f"{i:02}.png"))

    def command(self, **options):
        return subprocess.Popen([sys.executable, os.path.join(ROOT, "examples", "scale_out", "enlarge.py"), self.images, self.results, "--plan",
                                 self.plan, "--nodes", "2"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                env={**os.environ, "PYTHONPATH": PACKAGE, "RAY_worker_niceness": "0"}, **options)

    def done(self):
        return sorted(name for name in os.listdir(self.results) if name.endswith(".png")) if os.path.isdir(self.results) else []

    def test_a_run_that_is_killed_is_gone_on_with(self):
        first = self.command()
        ends = time.monotonic() + 240
        while len(self.done()) < 5 and first.poll() is None and time.monotonic() < ends:
            time.sleep(0.01)
        first.send_signal(signal.SIGKILL)
        first.communicate()
        before = self.done()
        self.assertGreaterEqual(len(before), 5)
        self.assertLess(len(before), IMAGES, "it was killed too late")
        times = {name: os.stat(os.path.join(self.results, name)).st_mtime_ns for name in before}
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
        self.assertEqual(self.done(), [f"{i:02}.png" for i in range(IMAGES)])
        self.assertEqual({name: os.stat(os.path.join(self.results, name)).st_mtime_ns for name in before}, times)
        for i in range(0, IMAGES, 7):
            image = np.asarray(Image.open(os.path.join(self.images, f"{i:02}.png")), np.float32).transpose(2, 0, 1)[None] / 255
            wanted = self.network({"image": image, "size": np.zeros((1, 1, image.shape[2] * 2, image.shape[3] * 2), np.float32)})[0]
            got = np.asarray(Image.open(os.path.join(self.results, f"{i:02}.png")), np.float32).transpose(2, 0, 1)
            np.testing.assert_allclose(got, np.clip(wanted, 0, 1) * 255, atol=0.51)


if __name__ == "__main__":
    unittest.main()
