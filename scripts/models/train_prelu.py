# SPDX-License-Identifier: Apache-2.0
"""Trains a small network with PReLU on scikit-learn's handwritten digits and writes it as a Caffe network:
models/digits_prelu.prototxt and models/digits_prelu.caffemodel.

Prints the accuracy on held-out digits. Data, split and training are train_lenet.py's, and so is what it needs.
"""

import argparse
import os

import torch
import torch.nn.functional as functional

import write_caffe
from train_lenet import MODELS, accuracy, load_split, train

# Data, then name, type, bottom and top of each layer, and its parameters. PReLU works in place, as it mostly does.
LAYERS = (
    ("conv1", "Convolution", "data", "conv1", "convolution_param { num_output: 8 kernel_size: 5 }"),
    ("prelu1", "PReLU", "conv1", "conv1", ""),
    ("pool1", "Pooling", "conv1", "pool1", "pooling_param { pool: MAX kernel_size: 2 stride: 2 }"),
    ("conv2", "Convolution", "pool1", "conv2", "convolution_param { num_output: 16 kernel_size: 5 }"),
    ("prelu2", "PReLU", "conv2", "conv2", "prelu_param { channel_shared: true }"),
    ("pool2", "Pooling", "conv2", "pool2", "pooling_param { pool: MAX kernel_size: 2 stride: 2 }"),
    ("ip1", "InnerProduct", "pool2", "ip1", "inner_product_param { num_output: 10 }"),
    ("prob", "Softmax", "ip1", "prob", ""),
)


class PreluNet(torch.nn.Module):
    """Two convolutions, each with PReLU and max-pooling, and one inner product. The first PReLU has a slope for each
    channel, the second one for all."""

    def __init__(self, maps1=8, maps2=16):
        super().__init__()
        self.conv1 = torch.nn.Conv2d(1, maps1, 5)
        self.prelu1 = torch.nn.PReLU(maps1)
        self.conv2 = torch.nn.Conv2d(maps1, maps2, 5)
        self.prelu2 = torch.nn.PReLU()
        self.ip1 = torch.nn.Linear(maps2 * 16, 10)

    def logits(self, digits, dropout=0.0):
        maps = functional.max_pool2d(self.prelu1(self.conv1(digits)), 2)
        maps = functional.max_pool2d(self.prelu2(self.conv2(maps)), 2)
        return self.ip1(functional.dropout(maps.flatten(1), dropout, self.training))

    def forward(self, digits):
        return torch.softmax(self.logits(digits), 1)


def write(folder, network):
    text = ['name: "digits_prelu"', "layer {", '  name: "data"', '  type: "Input"', '  top: "data"',
            "  input_param { shape { dim: 1 dim: 1 dim: 28 dim: 28 } }", "}"]
    for name, kind, bottom, top, parameters in LAYERS:
        text += ["layer {", f'  name: "{name}"', f'  type: "{kind}"', f'  bottom: "{bottom}"', f'  top: "{top}"']
        text += [f"  {parameters}"] if parameters else []
        text += ["}"]
    state = {key: value.numpy() for key, value in network.state_dict().items()}
    state["prelu2.weight"] = state["prelu2.weight"].reshape(())  # a blob without axes, as Caffe has it
    weights = [(name, kind, [state[f"{name}.{part}"] for part in ("weight", "bias") if f"{name}.{part}" in state])
               for name, kind, *_ in LAYERS]
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "digits_prelu.prototxt"), "w", encoding="utf-8") as file:
        file.write("\n".join(text) + "\n")
    with open(os.path.join(folder, "digits_prelu.caffemodel"), "wb") as file:
        file.write(write_caffe.model([layer for layer in weights if layer[2]], name="digits_prelu"))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", default=MODELS, help="folder of digits_prelu.prototxt and .caffemodel")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--rate", type=float, default=4e-3, help="highest learning rate of Adam")
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    digits, labels, held_out, held_out_labels = load_split()
    torch.manual_seed(options.seed)
    network = train(options, digits, labels, PreluNet())
    print(f"accuracy: training {accuracy(network, digits, labels):.4f}, "
          f"held out {accuracy(network, held_out, held_out_labels):.4f}")
    write(options.output, network)


if __name__ == "__main__":
    main()
