# SPDX-License-Identifier: Apache-2.0
"""The photographs that SRCNN learns from and is measured on, and how they are measured.

All of them come inside scikit-image's package (nothing is downloaded) and are free of copyright
restrictions; models/README.md lists the source and licence of each. This file does not train
(train_srcnn.py) and writes no files (make_references.py).
"""

import os

import numpy as np
import skimage
import torch
import torch.nn.functional as functional
from PIL import Image

# The held-out photographs were chosen before the first training; no result changed them.
TRAINING = [
    "brick.png", "camera.png", "cell.png", "clock_motion.png", "coins.png", "grass.png",
    "gravel.png", "hubble_deep_field.jpg", "ihc.png", "retina.jpg", "text.png",
]
HELD_OUT = ["astronaut.png", "chelsea.png", "coffee.png", "rocket.jpg"]
BORDER = 6  # pixels cut from each side before PSNR is taken


def load(name):
    """A photograph as float32 [1, 3, height, width] in 0..1; grey ones get three equal channels."""
    path = os.path.join(os.path.dirname(skimage.__file__), "data", name)
    with Image.open(path) as picture:
        pixels = np.asarray(picture.convert("RGB"), dtype=np.float32) / 255.0
    return torch.from_numpy(pixels.transpose(2, 0, 1).copy())[None]


def crop_to_multiple(image, multiple):
    """Cuts right and bottom so that both sides divide by `multiple`."""
    height, width = image.shape[-2:]
    return image[..., : height - height % multiple, : width - width % multiple]


def shrink(image, size):
    """Antialiased bicubic down (coefficient -0.5), rounded to 8 bits as a stored picture is."""
    small = functional.interpolate(image, size=size, mode="bicubic", align_corners=False,
                                   antialias=True)
    return (small.clamp(0, 1) * 255).round() / 255


def enlarge(image, size):
    """Bicubic up: coefficient -0.75, half-pixel centres, edges repeated; not clamped."""
    return functional.interpolate(image, size=size, mode="bicubic", align_corners=False)


def psnr(image, truth):
    """Peak signal-to-noise ratio in dB over RGB, values clamped to 0..1, BORDER pixels cut."""
    inner = (..., slice(BORDER, -BORDER), slice(BORDER, -BORDER))
    error = (image.clamp(0, 1)[inner] - truth[inner]).double()
    return float(-10 * torch.log10((error * error).mean()))
