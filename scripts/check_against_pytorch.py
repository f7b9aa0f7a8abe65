# SPDX-License-Identifier: Apache-2.0
"""Compares Tenon with PyTorch on the networks of torchvision, with random weights: exported to ONNX, built, run.

Usage: /usr/bin/python3 check_against_pytorch.py TENON [NAME...], with Debian's python3-torch and python3-torchvision. Each network is
exported with a batch that is known only at run time where its exporter can, built for batches of 1 to 2, and run at 2. The
largest difference may be 1e-3 of the largest value: deep networks with random weights add up thousands of rounded products.
A network that Tenon does not have (exit 3) is printed with the reason and counted as skipped.
"""

import os
import subprocess
import sys
import tempfile
import warnings

import numpy as np
import torch
import torchvision

# Name, extents of the image, further arguments. One of each kind and all sizes that fit a machine of two cores.
NETWORKS = (
    ("alexnet", 224, {}), ("vgg11_bn", 224, {}), ("resnet18", 224, {}), ("resnet50", 224, {}), ("resnext50_32x4d", 224, {}),
    ("wide_resnet50_2", 224, {}), ("squeezenet1_1", 224, {}), ("densenet121", 224, {}), ("googlenet", 224, {"init_weights": True}),
    ("inception_v3", 299, {"init_weights": True}), ("mobilenet_v2", 224, {}), ("mobilenet_v3_small", 224, {}),
    ("mobilenet_v3_large", 224, {}), ("mnasnet0_5", 224, {}), ("mnasnet1_0", 224, {}), ("shufflenet_v2_x0_5", 224, {}),
    ("shufflenet_v2_x1_0", 224, {}), ("efficientnet_b0", 224, {}), ("efficientnet_v2_s", 224, {}), ("regnet_x_400mf", 224, {}),
    ("regnet_y_400mf", 224, {}), ("convnext_tiny", 224, {}), ("fcn_resnet50", 160, {"weights_backbone": None}),
    ("deeplabv3_mobilenet_v3_large", 160, {"weights_backbone": None}), ("lraspp_mobilenet_v3_large", 160, {"weights_backbone": None}),
    ("vit_b_16", 224, {}), ("swin_t", 224, {}), ("r3d_18", 56, {}),
)
TOLERANCE = 1e-3
VIDEO_FRAMES = 8


def first_output(value):
    return next(iter(value.values())) if isinstance(value, dict) else value[0] if isinstance(value, tuple) else value


class First(torch.nn.Module):
    """Segmentation networks answer with a dictionary, which ONNX cannot."""

    def __init__(self, network):
        super().__init__()
        self.network = network

    def forward(self, image):
        return first_output(self.network(image))


def prepare(network, image):
    """Gives batch normalisations the statistics of the images: with those of fresh weights activations die out in deep layers."""
    for module in network.modules():
        if isinstance(module, torch.nn.modules.batchnorm._BatchNorm):
            module.momentum = None
    with torch.no_grad():
        network.train()(image)
    return network.eval()


def compare(tenon, folder, name, side, arguments):
    """(outcome, text)"""
    torch.manual_seed(0)
    shape = (3, VIDEO_FRAMES, side, side) if name == "r3d_18" else (3, side, side)
    image = torch.randn(2, *shape)
    network = prepare(First(torchvision.models.get_model(name, weights=None, **arguments)), image)
    model, result = os.path.join(folder, "net.onnx"), os.path.join(folder, "y.npy")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = network(image).detach().numpy()  # with gradients: the fused attention of inference cannot be exported
        torch.onnx.export(network, image, model, input_names=["x"], output_names=["y"], opset_version=16,
                          dynamic_axes={"x": {0: "n"}, "y": {0: "n"}})
    if np.abs(expected[0] - expected[1]).max() < TOLERANCE * np.abs(expected).max():
        return "FAIL", "PyTorch's own results hardly depend on the image: this compares nothing"
    np.save(os.path.join(folder, "x.npy"), image.numpy())
    if os.path.exists(result):
        os.remove(result)
    extents = "x".join(map(str, shape))
    command = [tenon, "run", model, "--no-timing", "--shape", f"x=1x{extents}:2x{extents}:2x{extents}", "--input",
               "x=" + os.path.join(folder, "x.npy"), "--output", "y=" + result]
    done = subprocess.run(command, capture_output=True, text=True, timeout=900)
    if done.returncode != 0:
        return "SKIP" if done.returncode == 3 else "FAIL", f"exit {done.returncode}: {done.stderr.strip()}"
    found = np.load(result)
    if found.shape != expected.shape:
        return "FAIL", f"shape {found.shape}, {expected.shape} expected"
    difference = np.abs(found - expected).max() / np.abs(expected).max()
    return "PASS" if difference <= TOLERANCE else "FAIL", f"largest difference {difference:.1e} of the largest value"


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    tenon, wanted = os.path.abspath(sys.argv[1]), sys.argv[2:]
    counts = {"PASS": 0, "FAIL": 0, "SKIP": 0}
    with tempfile.TemporaryDirectory(prefix="tenon-pytorch.") as folder:
        for name, side, arguments in NETWORKS:
            if wanted and name not in wanted:
                continue
            outcome, text = compare(tenon, folder, name, side, arguments)
            counts[outcome] += 1
            print(outcome, f"{name}: {text}", flush=True)
    print(f"{counts['PASS']} passed, {counts['FAIL']} failed, {counts['SKIP']} skipped")
    return 1 if counts["FAIL"] else 0


if __name__ == "__main__":
    sys.exit(main())
