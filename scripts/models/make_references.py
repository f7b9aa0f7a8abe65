# SPDX-License-Identifier: Apache-2.0
"""Writes what tests compare with: models/reference/*.npy (PyTorch's results for the weights in
models/*.onnx) and the demo's photograph, models/photo.png and models/photo_2x.png.

It trains nothing; run it after train_srcnn.py and train_lenet.py. check_models.py reads what it
writes.
"""

import argparse
import os

import numpy as np
import torch
from PIL import Image

import train_lenet
from photographs import HELD_OUT, crop_to_multiple, enlarge, load, psnr, shrink
from srcnn import load_srcnn
from train_srcnn import MODELS

LENET_DIGITS = 7
CROP_FROM, CROP_TOP, CROP_LEFT, CROP_HEIGHT, CROP_WIDTH = "chelsea.png", 100, 120, 24, 32
SRCNN_SIZES = [(36, 51), (48, 64), (72, 96)]
PHOTO, PHOTO_TOP, PHOTO_LEFT, PHOTO_HEIGHT, PHOTO_WIDTH = "coffee.png", 8, 40, 384, 512


def write_array(folder, name, values):
    np.save(os.path.join(folder, f"{name}.npy"), np.ascontiguousarray(values))


def write_picture(path, image):
    pixels = (image[0].clamp(0, 1) * 255).round().byte().numpy().transpose(1, 2, 0)
    Image.fromarray(np.ascontiguousarray(pixels)).save(path, optimize=True)


def write_lenet(models, folder):
    network = train_lenet.load_lenet(os.path.join(models, "lenet.onnx"))
    _, _, digits, labels = train_lenet.load_split()
    digits, labels = digits[:LENET_DIGITS], labels[:LENET_DIGITS]
    with torch.no_grad():
        output = network(digits)
    write_array(folder, "lenet_input", digits.numpy())
    write_array(folder, "lenet_labels", labels.numpy())
    write_array(folder, "lenet_output", output.numpy())
    print("lenet: labels", labels.tolist(), "answers", output.argmax(1).tolist())


def write_srcnn(network, folder):
    image = load(CROP_FROM)[..., CROP_TOP : CROP_TOP + CROP_HEIGHT,
                            CROP_LEFT : CROP_LEFT + CROP_WIDTH]
    write_array(folder, "srcnn_image", image.numpy())
    for height, width in SRCNN_SIZES:
        with torch.no_grad():
            output = network(image, (height, width))
        write_array(folder, f"srcnn_size_{height}x{width}",
                    np.zeros((1, 1, height, width), np.float32))
        write_array(folder, f"srcnn_output_{height}x{width}", output.numpy())


def write_photograph(network, models):
    assert PHOTO in HELD_OUT
    truth = crop_to_multiple(load(PHOTO)[..., PHOTO_TOP : PHOTO_TOP + PHOTO_HEIGHT,
                                         PHOTO_LEFT : PHOTO_LEFT + PHOTO_WIDTH], 2)
    size = list(truth.shape[-2:])
    small = shrink(truth, [side // 2 for side in size])
    write_picture(os.path.join(models, "photo_2x.png"), truth)
    write_picture(os.path.join(models, "photo.png"), small)
    with torch.no_grad():
        print(f"photo.png to 2x: bicubic {psnr(enlarge(small, size), truth):.2f} dB, "
              f"srcnn {psnr(network(small, size), truth):.2f} dB")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", default=MODELS, help="folder of the ONNX files")
    options = parser.parse_args()
    torch.set_num_threads(1)
    folder = os.path.join(options.models, "reference")
    os.makedirs(folder, exist_ok=True)
    write_lenet(options.models, folder)
    network = load_srcnn(os.path.join(options.models, "srcnn_dynamic.onnx"))
    write_srcnn(network, folder)
    write_photograph(network, options.models)


if __name__ == "__main__":
    main()
