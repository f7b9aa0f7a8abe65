# SPDX-License-Identifier: Apache-2.0
"""Writes models/digits/0.pgm to 9.pgm: of each class the first digit that was held out when models/lenet.onnx was trained.

They are 28x28, dark on white (255 - 255 times the value that the networks take), as pictures of writing on paper are.
It needs what train_lenet.py needs.
"""

import os

import numpy as np

from train_lenet import MODELS, load_split


def main():
    _, _, digits, labels = load_split()
    folder = os.path.join(MODELS, "digits")
    os.makedirs(folder, exist_ok=True)
    for label in range(10):
        picture = digits[int(np.flatnonzero(labels.numpy() == label)[0]), 0].numpy()
        with open(os.path.join(folder, f"{label}.pgm"), "wb") as file:
            file.write(b"P5\n28 28\n255\n" + np.rint(255 - 255 * picture).astype(np.uint8).tobytes())


if __name__ == "__main__":
    main()
