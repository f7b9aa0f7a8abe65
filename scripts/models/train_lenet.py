# SPDX-License-Identifier: Apache-2.0
"""Trains LeNet on scikit-learn's handwritten digits and writes models/lenet.onnx.

Prints the accuracy on held-out digits. The digits are 8x8 with 17 levels; here they are divided by
16 and enlarged to 28x28 (bilinear, half-pixel centres, edges repeated). It needs PyTorch,
scikit-learn and ONNX (Debian: python3-torch python3-sklearn python3-onnx).
"""

import argparse
import os

import numpy as np
import onnx
import torch
import torch.nn.functional as functional
from onnx import TensorProto, helper, numpy_helper
from sklearn.datasets import load_digits

OPSET = 17
IR_VERSION = 8
MODELS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "models")
TEST_SHARE = 0.25
SPLIT_SEED = 1


class LeNet(torch.nn.Module):
    """After Y. LeCun et al., "Gradient-Based Learning Applied to Document Recognition", 1998, with
    the layer sizes that Caffe's example made common and ReLU after the first inner product only."""

    def __init__(self, maps1=20, maps2=50, hidden=500):
        super().__init__()
        self.conv1 = torch.nn.Conv2d(1, maps1, 5)
        self.conv2 = torch.nn.Conv2d(maps1, maps2, 5)
        self.fc1 = torch.nn.Linear(maps2 * 16, hidden)
        self.fc2 = torch.nn.Linear(hidden, 10)

    def logits(self, digits, dropout=0.0):
        maps = functional.max_pool2d(self.conv1(digits), 2)
        maps = functional.max_pool2d(self.conv2(maps), 2)
        hidden = torch.relu(self.fc1(maps.flatten(1)))
        return self.fc2(functional.dropout(hidden, dropout, self.training))

    def forward(self, digits):
        return torch.softmax(self.logits(digits), 1)


def load_split():
    """(training digits, labels, held-out digits, labels): float32 [n, 1, 28, 28] in 0..1."""
    data = load_digits()
    small = torch.from_numpy((data.images / 16.0).astype(np.float32))[:, None]
    digits = functional.interpolate(small, size=(28, 28), mode="bilinear", align_corners=False)
    labels = torch.from_numpy(data.target.astype(np.int64))
    order = np.random.RandomState(SPLIT_SEED).permutation(len(labels))
    held_out = int(len(order) * TEST_SHARE)
    train, test = order[held_out:], order[:held_out]
    return digits[train], labels[train], digits[test], labels[test]


def jitter(digits):
    """Each digit turned, stretched and moved a little, at random."""
    count = len(digits)
    angle = (torch.rand(count) - 0.5) * 0.35
    scale = 1 + (torch.rand(count, 2) - 0.5) * 0.2
    move = (torch.rand(count, 2) - 0.5) * 0.2
    cosine, sine = torch.cos(angle), torch.sin(angle)
    rows = [torch.stack([cosine * scale[:, 0], -sine, move[:, 0]], 1),
            torch.stack([sine, cosine * scale[:, 1], move[:, 1]], 1)]
    grid = functional.affine_grid(torch.stack(rows, 1), digits.shape, align_corners=False)
    return functional.grid_sample(digits, grid, align_corners=False)


def accuracy(network, digits, labels):
    with torch.no_grad():
        return float((network(digits).argmax(1) == labels).double().mean())


def train(options, digits, labels, network):
    optimiser = torch.optim.Adam(network.parameters(), lr=options.rate, weight_decay=1e-5)
    steps = options.epochs * -(-len(labels) // options.batch)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, options.rate, steps)
    for epoch in range(1, options.epochs + 1):
        network.train()
        total = 0.0
        for chosen in torch.randperm(len(labels)).split(options.batch):
            loss = functional.cross_entropy(network.logits(jitter(digits[chosen]), 0.3),
                                            labels[chosen])
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            schedule.step()
            total += float(loss) * len(chosen)
        if epoch % 10 == 0:
            print(f"epoch {epoch}: loss {total / len(labels):.4f}", flush=True)
    return network.eval()


def write_onnx(path, network, name="lenet"):
    """Input "input" [batch, 1, 28, 28], output "output" [batch, 10]: probabilities."""
    weights = [numpy_helper.from_array(value.detach().numpy(), key)
               for key, value in network.state_dict().items()]
    convolution = {"kernel_shape": [5, 5], "strides": [1, 1], "pads": [0] * 4, "dilations": [1, 1],
                   "group": 1}
    pool = {"kernel_shape": [2, 2], "strides": [2, 2], "pads": [0] * 4}
    chain = [
        ("Conv", "conv1", ["conv1.weight", "conv1.bias"], convolution),
        ("MaxPool", "pool1", [], pool),
        ("Conv", "conv2", ["conv2.weight", "conv2.bias"], convolution),
        ("MaxPool", "pool2", [], pool),
        ("Flatten", "flatten", [], {"axis": 1}),
        ("Gemm", "fc1", ["fc1.weight", "fc1.bias"], {"alpha": 1.0, "beta": 1.0, "transB": 1}),
        ("Relu", "relu1", [], {}),
        ("Gemm", "fc2", ["fc2.weight", "fc2.bias"], {"alpha": 1.0, "beta": 1.0, "transB": 1}),
        ("Softmax", "softmax", [], {"axis": 1}),
    ]
    nodes, previous = [], "input"
    for kind, node, constants, attributes in chain:
        result = "output" if node == "softmax" else f"{node}_output"
        nodes.append(helper.make_node(kind, [previous] + constants, [result], name=node,
                                      **attributes))
        previous = result
    values = [helper.make_tensor_value_info("input", TensorProto.FLOAT, ["batch", 1, 28, 28]),
              helper.make_tensor_value_info("output", TensorProto.FLOAT, ["batch", 10])]
    graph = helper.make_graph(nodes, name, values[:1], values[1:], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)],
                              producer_name="tenon-models")
    model.ir_version = IR_VERSION
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, path)


def load_lenet(path):
    """The network with the weights of one of our ONNX files."""
    state = {t.name: torch.from_numpy(numpy_helper.to_array(t).copy())
             for t in onnx.load(path).graph.initializer}
    network = LeNet(len(state["conv1.bias"]), len(state["conv2.bias"]), len(state["fc1.bias"]))
    network.load_state_dict(state)
    return network.eval()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", default=MODELS, help="folder of lenet.onnx")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--epochs", type=int, default=40)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--rate", type=float, default=2e-3, help="highest learning rate of Adam")
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    digits, labels, held_out, held_out_labels = load_split()
    print(f"{len(labels)} digits to train on, {len(held_out_labels)} held out", flush=True)
    torch.manual_seed(options.seed)
    network = train(options, digits, labels, LeNet())
    print(f"accuracy: training {accuracy(network, digits, labels):.4f}, "
          f"held out {accuracy(network, held_out, held_out_labels):.4f}")
    os.makedirs(options.output, exist_ok=True)
    write_onnx(os.path.join(options.output, "lenet.onnx"), network)


if __name__ == "__main__":
    main()
