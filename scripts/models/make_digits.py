# SPDX-License-Identifier: Apache-2.0
"""Writes the digits that quantised LeNets are calibrated and measured with, into models/reference/.

lenet_digits_small.npy holds uint8 [649, 8, 8] with levels 0 to 16: first 200 digits of the training part,
for calibration, then the 449 held-out ones, in the order of train_lenet.py's split;
lenet_digits_labels.npy the true digits, uint8 [649]. Needs scikit-learn and NumPy.
"""

import os

import numpy as np
from sklearn.datasets import load_digits

MODELS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "models")
TEST_SHARE, SPLIT_SEED, CALIBRATION_COUNT = 0.25, 1, 200  # the first two as in train_lenet.py


def main():
    data = load_digits()
    order = np.random.RandomState(SPLIT_SEED).permutation(len(data.target))
    held_out = int(len(order) * TEST_SHARE)
    chosen = np.concatenate([order[held_out:held_out + CALIBRATION_COUNT], order[:held_out]])
    reference = os.path.join(MODELS, "reference")
    np.save(os.path.join(reference, "lenet_digits_small.npy"), data.images[chosen].astype(np.uint8))
    np.save(os.path.join(reference, "lenet_digits_labels.npy"), data.target[chosen].astype(np.uint8))
    print(f"{CALIBRATION_COUNT} digits for calibration, {held_out} held out")


if __name__ == "__main__":
    main()
