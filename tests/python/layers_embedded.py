# SPDX-License-Identifier: Apache-2.0
"""Libraries inside plans: embedded by build and save, loaded where the caller trusts them."""

import hashlib
import os
import tempfile
import unittest
from unittest import mock

import debug_layers as layers
import numpy as np
import tenon

X = np.linspace(-2, 2, 12, dtype=np.float32).reshape(3, 4)


class Embedded(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        cls.addClassCleanup(folder.cleanup)
        cls.folder = folder.name
        cls.enterClassContext(mock.patch.dict(os.environ, XDG_CACHE_HOME=folder.name))
        with open(layers.SOUND.build(), "rb") as file:
            cls.digest = hashlib.sha256(file.read()).hexdigest()
        cls.model = layers.chain("Test::Sound", shape=(3, 4)).SerializeToString()
        cls.plan = tenon.build(cls.model, [layers.SOUND], timing=False, embed_libraries=True, runtime=tenon.Runtime())
        cls.y = cls.plan.engine().context().run({"x": X})["y"]

    def path(self, name):
        return os.path.join(self.folder, name)

    def assert_loads(self, source, **trust):
        net = tenon.load(source, runtime=tenon.Runtime(), **trust)
        np.testing.assert_array_equal(net(X), self.y)

    def test_nothing_is_loaded_unasked(self):
        data = self.plan.tobytes()
        for trust in (None, False, [], ["0" * 64]):
            with self.subTest(trust=trust):
                runtime = tenon.Runtime()
                with self.assertRaisesRegex(tenon.Error, f"embeds it, SHA-256 {self.digest}") as caught:
                    tenon.load(data, runtime=runtime, trust=trust)
                self.assertEqual(caught.exception.code, "TN_ERROR_NOT_FOUND")
                self.assertNotIn("Test", [op["domain"] for op in runtime.operators])

    def test_bytes_and_files_load_what_is_trusted(self):
        self.plan.save(self.path("net.plan"))
        for source in (self.plan.tobytes(), self.path("net.plan")):
            self.assert_loads(source, trust=[self.digest])
            self.assert_loads(source, trust=self.digest)
            self.assert_loads(source, trust=True)

    def test_what_is_no_hash_is_refused(self):
        with self.assertRaisesRegex(tenon.Error, "'all' is no SHA-256"):
            tenon.load(self.plan.tobytes(), runtime=tenon.Runtime(), trust="all")
        with self.assertRaises(TypeError):
            tenon.load(self.plan.tobytes(), runtime=tenon.Runtime(), trust=1)

    def test_network_saves_with_its_libraries(self):
        net = tenon.load(self.model, [layers.SOUND], timing=False, runtime=tenon.Runtime())
        net.save(self.path("bare.plan"))
        net.save(self.path("whole.plan"), embed=True)
        with self.assertRaises(tenon.Error):
            tenon.load(self.path("bare.plan"), runtime=tenon.Runtime(), trust=True)
        self.assert_loads(self.path("whole.plan"), trust=True)
        self.assertEqual(self.plan.report["nodes"], net.plan.embed_libraries().report["nodes"])
        with self.assertRaisesRegex(ValueError, "embed_libraries=True"):
            tenon.Plan(self.path("bare.plan")).embed_libraries()

    def test_libraries_of_bodies_are_embedded(self):
        made = tenon.build(layers.loop("Test::Sound").SerializeToString(), [layers.SOUND], timing=False, runtime=tenon.Runtime(),
                           embed_libraries=True)
        y = made.engine().context().run({"x": X})["y"]
        with self.assertRaises(tenon.Error):
            tenon.load(made.tobytes(), runtime=tenon.Runtime())
        np.testing.assert_array_equal(tenon.load(made.tobytes(), runtime=tenon.Runtime(), trust=[self.digest])(X), y)


if __name__ == "__main__":
    unittest.main()
