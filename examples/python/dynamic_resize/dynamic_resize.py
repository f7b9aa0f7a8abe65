# SPDX-License-Identifier: Apache-2.0
"""A super-resolution network whose first layer, Test::DynamicTRTResize, is a plugin's: converted once, run at sizes that inputs say.

Usage: dynamic_resize.py SRCNN.onnx LIBRARY.so IMAGE.npy FOLDER SIZE.npy..., where the last two extents of a SIZE are those of the output,
which goes to FOLDER under the name of SIZE.
"""

import os
import sys
import tempfile

import numpy as np
from tenon.mmdeploy import Wrapper, from_onnx, is_available, load_plugin, plugin_list


def main():
    model, library, image, output, *sizes = sys.argv[1:]
    assert is_available("cpu")
    load_plugin(library)
    print("operators of plugins:", *plugin_list())
    with tempfile.TemporaryDirectory() as folder:
        prefix = os.path.join(folder, "srcnn")
        from_onnx(model, prefix, input_shapes={
            "image": {"min_shape": [1, 3, 8, 8], "opt_shape": [1, 3, 24, 32], "max_shape": [1, 3, 256, 256]},
            "size": {"min_shape": [1, 1, 8, 8], "opt_shape": [1, 1, 48, 64], "max_shape": [1, 1, 512, 512]}},
                  timing_seconds=1)
        wrapper = Wrapper(prefix + ".plan", ["output"])
        for size in sizes:
            result = wrapper({"image": np.load(image), "size": np.load(size)})["output"]
            np.save(os.path.join(output, os.path.basename(size)), result)
            print("output:", result.shape)


if __name__ == "__main__":
    main()
