# SPDX-License-Identifier: Apache-2.0
"""Trains a network in PyTorch around a layer of Tenon: Swish, y = x / (1 + exp(-beta x)), whose beta is learned with the other weights. The
trained network is exported with the layer in it and runs as a plan. It tells the points of two spirals apart."""
import numpy as np
import tenon
import tenon.torch
import torch
from torch import nn

swish = tenon.Plugin("Example::Swish", ["x", "beta"], ["y"], shape={"y": "x"}, cases=["| x=f32[2,3] beta=f32[1]"], forward="""
    const float *from = x->data, scale = *(const float *)beta->data;
    float *to = y->data;
    for (int64_t i = 0; i < tn_layer_count(x); i++) to[i] = from[i] / (1 + expf(-scale * from[i]));""")
tenon.torch.register(swish)  # as torch.ops.Example.Swish, which torch.export keeps as one node


def keep(ctx, inputs, output):
    ctx.save_for_backward(*inputs)


def differentiate(ctx, gradient):
    x, beta = ctx.saved_tensors
    sigmoid = torch.sigmoid(beta * x)
    slope = x * sigmoid * (1 - sigmoid)  # of beta * x
    return gradient * (sigmoid + beta * slope), (gradient * x * slope).sum().reshape(1)


torch.library.register_autograd("Example::Swish", differentiate, setup_context=keep)


class Swish(nn.Module):
    def __init__(self):
        super().__init__()
        self.beta = nn.Parameter(torch.ones(1))

    def forward(self, x):
        return torch.ops.Example.Swish(x, self.beta)


def spirals(count, seed):
    "Points of two spirals, and which of the two each is of."
    random = torch.Generator().manual_seed(seed)
    angle, kind = 6.5 * torch.rand(count, generator=random).sqrt(), torch.arange(count) % 2
    turned = angle + torch.pi * kind
    points = torch.stack([angle * turned.cos(), angle * turned.sin()], 1) / 6.5
    return points + 0.01 * torch.randn(points.shape, generator=random), kind


torch.manual_seed(1)
module = nn.Sequential(nn.Linear(2, 32), Swish(), nn.Linear(32, 32), Swish(), nn.Linear(32, 2))
optimizer = torch.optim.Adam(module.parameters(), lr=0.02)
points, kind = spirals(512, seed=2)
for step in range(400):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(module(points), kind)
    loss.backward()
    optimizer.step()
assert module[1].beta.item() != 1 and module[3].beta.item() != 1, "beta was not trained"

shapes = {"input": [(1, 2), (64, 2), (512, 2)]}
tenon.torch.convert(module, (points[:64],), shapes=shapes, plugins=[swish]).plan.save("spirals.plan")
network = tenon.load("spirals.plan", plugins=[swish])
points, kind = spirals(300, seed=3)  # others than those that it was trained with
scores = network(points.numpy())
with torch.no_grad():
    assert np.allclose(scores, module(points).numpy(), rtol=1e-3, atol=1e-4)
print(f"{(scores.argmax(1) == kind.numpy()).mean():.1%} of the points are told apart by the plan")
