# SPDX-License-Identifier: Apache-2.0
"""Trains SRCNN on scikit-image's photographs and writes models/srcnn_{dynamic,resize,fixed}.onnx.

Prints the PSNR of each held-out photograph, of plain bicubic and of the network. It needs PyTorch,
scikit-image, ONNX and Pillow (Debian: python3-torch python3-skimage python3-onnx python3-pil). The
network and its graphs are in srcnn.py, the data in photographs.py.
"""

import argparse
import os
import time

import numpy as np
import torch

import srcnn
from photographs import HELD_OUT, TRAINING, crop_to_multiple, enlarge, load, psnr, shrink

MODELS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "models")
MULTIPLE = 6  # sides divide by it, so that the factors 3/2, 2 and 3 all give whole sizes
FACTORS = ((2.0, 0.86), (1.5, 0.07), (3.0, 0.07))  # enlargement and its share of the patches
ZOOMS = (1.0, 0.85, 0.7, 0.6, 0.5)  # the photographs are also learnt at these smaller sizes
SMALLEST_SIDE = 96


class Patches:
    """Pairs (enlarged, truth) cut at random from all training photographs, with augmentation."""

    def __init__(self, patch, generator):
        self.patch, self.random = patch, generator
        self.pairs = {factor: [] for factor, _ in FACTORS}
        self.shares = {}  # how often each photograph is drawn
        for name in TRAINING:
            self._add_photograph(load(name))
        for factor, pairs in self.pairs.items():
            side = np.sqrt([truth.shape[1] * truth.shape[2] for _, truth in pairs])
            self.shares[factor] = side / side.sum()

    def _add_photograph(self, photograph):
        for zoom in ZOOMS:
            size = [int(side * zoom) for side in photograph.shape[-2:]]
            if min(size) < SMALLEST_SIDE:
                continue
            truth = photograph if zoom == 1.0 else shrink(photograph, size)
            truth = crop_to_multiple(truth, MULTIPLE)
            for factor in self.pairs:
                small = shrink(truth, [round(side / factor) for side in truth.shape[-2:]])
                self.pairs[factor].append((enlarge(small, truth.shape[-2:])[0], truth[0]))

    def _cut(self, factor):
        """The busiest of three random crops: flat sky and black borders teach nothing."""
        best, best_detail = None, -1.0
        for _ in range(3):
            shares = self.shares[factor]
            enlarged, truth = self.pairs[factor][self.random.choice(len(shares), p=shares)]
            y = self.random.integers(truth.shape[1] - self.patch + 1)
            x = self.random.integers(truth.shape[2] - self.patch + 1)
            window = (slice(None), slice(y, y + self.patch), slice(x, x + self.patch))
            detail = float((enlarged[window] - truth[window]).abs().mean())
            if detail > best_detail:
                best, best_detail = (enlarged[window], truth[window]), detail
        return best

    def _augment(self, pair):
        """Both pictures alike: turned, mirrored, channels shuffled, colours faded or inverted."""
        turn, mirror = self.random.integers(4), self.random.integers(2)
        order = torch.from_numpy(self.random.permutation(3))
        gain = torch.from_numpy(self.random.uniform(0.6, 1.0, (3, 1, 1)).astype(np.float32))
        offset = torch.from_numpy(self.random.uniform(0.0, 1.0, (3, 1, 1)).astype(np.float32))
        offset = offset * (1 - gain)
        invert = self.random.integers(2)
        out = []
        for image in pair:
            image = torch.rot90(image[order], int(turn), (1, 2))
            image = image.flip(2) if mirror else image
            image = image * gain + offset
            out.append(1 - image if invert else image)
        return out

    def batch(self, count):
        factors, shares = zip(*FACTORS)
        drawn = [self._augment(self._cut(factors[self.random.choice(len(factors), p=shares)]))
                 for _ in range(count)]
        return (torch.stack([pair[0] for pair in drawn]), torch.stack([pair[1] for pair in drawn]))


def loss_of(output, truth, border=6, border_weight=0.1):
    """Mean squared error; pixels near a patch's edge see zero padding and count for less."""
    error = (output - truth) ** 2
    weight = torch.full_like(error[:1, :1], border_weight)
    weight[..., border:-border, border:-border] = 1.0
    return (error * weight).mean()


def measure(network, names):
    """Rows (name, width, height, bicubic dB, network dB) at 2x."""
    rows = []
    with torch.no_grad():
        for name in names:
            truth = crop_to_multiple(load(name), 2)
            size = list(truth.shape[-2:])
            small = shrink(truth, [side // 2 for side in size])
            rows.append((name, size[1], size[0], psnr(enlarge(small, size), truth),
                         psnr(network(small, size), truth)))
    return rows


def print_table(rows):
    print(f"{'photograph, 2x':24s} {'size':>10s} {'bicubic':>8s} {'srcnn':>8s} {'gain':>6s} dB")
    for name, width, height, plain, ours in rows:
        print(f"{name:24s} {width:5d}x{height:<4d} {plain:8.2f} {ours:8.2f} {ours - plain:+6.2f}")
    plain, ours = (float(np.mean([row[column] for row in rows])) for column in (3, 4))
    print(f"{'mean':24s} {'':10s} {plain:8.2f} {ours:8.2f} {ours - plain:+6.2f}", flush=True)


def start_network():
    """He's initialisation; the last layer starts near zero, so that training starts at bicubic."""
    network = srcnn.Srcnn()
    for name, _, _, _ in srcnn.LAYERS:
        layer = getattr(network, name)
        torch.nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
        torch.nn.init.zeros_(layer.bias)
    with torch.no_grad():
        network.conv3.weight.mul_(0.1)
    return network


def train(options):
    torch.manual_seed(options.seed)
    patches = Patches(options.patch, np.random.default_rng(options.seed))
    network, average = start_network(), srcnn.Srcnn()
    average.load_state_dict(network.state_dict())
    optimiser = torch.optim.Adam(network.parameters())
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, options.rate, options.iterations,
                                                   pct_start=0.05, final_div_factor=1000)
    began, losses = time.time(), []
    for iteration in range(1, options.iterations + 1):
        enlarged, truth = patches.batch(options.batch)
        loss = loss_of(network.refine(enlarged), truth)
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), 0.1)
        optimiser.step()
        schedule.step()
        losses.append(float(loss))
        with torch.no_grad():
            keep = min(0.998, iteration / (iteration + 10))
            for slow, fast in zip(average.parameters(), network.parameters()):
                slow.mul_(keep).add_(fast, alpha=1 - keep)
        if iteration % options.report == 0:
            print(f"iteration {iteration}, {time.time() - began:.0f} s, "
                  f"loss {np.mean(losses[-options.report:]):.3e}", flush=True)
            if options.watch:
                print_table(measure(average, HELD_OUT))
    return average


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", default=MODELS, help="folder of the three files")
    parser.add_argument("--seed", type=int, default=2)
    parser.add_argument("--iterations", type=int, default=16000)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--patch", type=int, default=48, help="side of a training patch, in pixels")
    parser.add_argument("--rate", type=float, default=6e-4, help="highest learning rate of Adam")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--report", type=int, default=1000, help="iterations between two lines")
    parser.add_argument("--watch", action="store_true", help="print the table at each report")
    parser.add_argument("--measure", metavar="FILE", help="measure an ONNX file, do not train")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    if options.measure:
        print_table(measure(srcnn.load_srcnn(options.measure), HELD_OUT))
        return
    print("trains on:", ", ".join(TRAINING))
    print("held out: ", ", ".join(HELD_OUT), flush=True)
    network = train(options)
    print_table(measure(network, HELD_OUT))
    state = {name: value.detach() for name, value in network.state_dict().items()}
    os.makedirs(options.output, exist_ok=True)
    for kind in ("dynamic", "resize", "fixed"):
        getattr(srcnn, f"write_{kind}")(os.path.join(options.output, f"srcnn_{kind}.onnx"), state)


if __name__ == "__main__":
    main()
