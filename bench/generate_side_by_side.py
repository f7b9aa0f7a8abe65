#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times how many tokens a second a GPT makes on a GPU in Tenon and in PyTorch: generate_side_by_side.py [--position N]

The network is that of scripts/models/gpt.py, wider and deeper, with random weights: one token a run, keys and values in caches of a fixed
capacity that stay in the GPU's memory and are written in place; Tenon's hold 32-bit floats. torch: the same layers in eager mode as one CUDA graph, over the whole
cache with a mask, as its static caches have it. In turns, five times; printed are the medians and whether both choose the same token.
Needs torch with CUDA and onnx. Programs are taken from $TENON_BIN, build/bin by default."""
import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import torch
import torch.nn.functional as F

from torch_graph import captured, replay_us

root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
programs = os.environ.get("TENON_BIN", f"{root}/build/bin")
sys.path.insert(0, f"{root}/scripts/models")
import gpt  # noqa: E402

ROUNDS, REPLAYS = 5, 50
gpt.CAPACITY, gpt.WIDTH, gpt.HEADS, gpt.LAYERS, gpt.HIDDEN, gpt.CHARACTERS = 1024, 768, 12, 12, 3072, 8192
gpt.DEPTH = gpt.WIDTH // gpt.HEADS


def weights():
    made, rng = gpt.weights(), np.random.default_rng(4)
    for name, columns in (("wide", gpt.WIDTH), ("output", gpt.CHARACTERS)):
        made[name] = (rng.standard_normal((gpt.WIDTH, columns)) * gpt.WIDTH**-0.5).astype(np.float32)
    return made


class Decoder:
    """One token a replay, in 16-bit floats."""

    def __init__(self, made, token, position):
        self.w = {name: torch.from_numpy(value).cuda().half() for name, value in made.items()}
        self.token = torch.tensor([token], device="cuda")
        self.position = torch.tensor([position], device="cuda")
        shape = (1, gpt.HEADS, gpt.CAPACITY, gpt.DEPTH)
        self.caches = [(filled(shape), filled(shape)) for _ in range(gpt.LAYERS)]
        self.columns = torch.arange(gpt.CAPACITY, device="cuda")
        self.graph, self.next = captured(self.step)

    def step(self):
        w, width = self.w, (gpt.WIDTH,)
        mask = (self.columns <= self.position)[None, None, None]
        x = w["embedding"][self.token] + w["positions"][self.position]
        for n, (keys, values) in enumerate(self.caches):
            qkv = F.rms_norm(x, width, eps=1e-5) @ w[f"qkv.{n}"]
            q, k, v = (part.reshape(1, 1, gpt.HEADS, gpt.DEPTH).transpose(1, 2) for part in qkv.chunk(3, -1))
            keys.index_copy_(2, self.position, k)
            values.index_copy_(2, self.position, v)
            y = F.scaled_dot_product_attention(q, keys, values, attn_mask=mask)
            x = x + y.reshape(1, gpt.WIDTH) @ w[f"joined.{n}"]
            x = x + F.relu(F.rms_norm(x, width, eps=1e-5) @ w[f"up.{n}"]) @ w[f"down.{n}"]
        return (F.relu(F.rms_norm(x, width, eps=1e-5) @ w["wide"]) @ w["output"]).argmax(-1)


def filled(shape):
    """What tenon-bench-replay-cuda puts into an input."""
    count = int(np.prod(shape))
    return torch.from_numpy((np.arange(count) * 37 % 255 / 255).astype(np.float32)).reshape(shape).cuda().half()


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True, timeout=400, check=False)
    if done.returncode != 0:
        sys.exit(f"{os.path.basename(command[0])}: {(done.stderr or done.stdout).strip()[-400:]}")
    return done.stdout


def tenon_token(plan, folder, token, position):
    np.save(f"{folder}/tokens.npy", np.array([[token]]))
    np.save(f"{folder}/start.npy", np.array([position]))
    cache = filled((1, gpt.HEADS, gpt.CAPACITY, gpt.DEPTH)).float().cpu().numpy()
    np.save(f"{folder}/cache.npy", cache)
    names = [f"{part}.{n}" for n in range(gpt.LAYERS) for part in ("key", "value")]
    inputs = [f"--input={name}={folder}/cache.npy" for name in names]
    run(f"{programs}/tenon", "run", plan, f"--input=tokens={folder}/tokens.npy", f"--input=start={folder}/start.npy", *inputs,
        "--output-dir", folder)
    return int(np.load(f"{folder}/next.npy")[0])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--position", type=int, default=255)
    position, token, made = parser.parse_args().position, 17, weights()
    with tempfile.TemporaryDirectory() as folder:
        plan = f"{folder}/gpt.plan"
        onnx.save(gpt.model(made), f"{folder}/gpt.onnx")
        said = run(f"{programs}/tenon", "build", f"{folder}/gpt.onnx", "--device", "cuda", "--precision", "fp16", "--shape", "tokens=1x1", "-o", plan)
        print("\n".join(line for line in said.splitlines() if "processor" in line))
        decoder, times = Decoder(made, token, position), ([], [])
        for _ in range(ROUNDS):
            answer = run(f"{programs}/tenon-bench-replay-cuda", plan, str(REPLAYS), f"tokens={token}", f"start={position}", "--state", "next_")
            times[0].append(float(re.search(r"median_us=([\d.]+)", answer)[1]))
            times[1].append(replay_us(decoder.graph, REPLAYS))
        tokens = [tenon_token(plan, folder, token, position), int(decoder.next[0])]
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}; position {position} of {gpt.CAPACITY}")
    for name, of_side in zip(("Tenon", "PyTorch"), times):
        us = statistics.median(of_side)
        print(f"| {name} | {us:.1f} us a token | {1e6 / us:.0f} tokens/s |")
    print(f"next tokens: {tokens[0]} and {tokens[1]}")


main()
