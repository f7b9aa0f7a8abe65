# SPDX-License-Identifier: Apache-2.0
"""A layer from source text: SoftClip bends values into low to high. It is compiled, checked against NumPy, timed, and used in a network."""
import numpy as np
import tenon

soft_clip = tenon.Plugin(
    "Example::SoftClip", {"x": "T:f32|f64"}, {"y": "T"}, {"low": 0.0, "high": 6.0},
    forward="""
        const T *from = x->data, half = (fields->high - fields->low) / 2, middle = fields->low + half;
        T *to = y->data;
        for (int64_t i = 0; i < tn_layer_count(x); i++)
            to[i] = middle + half * tanh((from[i] - middle) / half);
    """,
    reference=lambda x, low=0.0, high=6.0: (low + high) / 2 + (high - low) / 2 * np.tanh((2 * x - low - high) / (high - low)))

print(soft_clip.check())
print(soft_clip.bench())
net = tenon.Graph()
net.output(net.add(soft_clip, [net.input("x", "f32", ["n"])], high=8.0), "y")
print(net.load(shapes={"x": [(1,), (9,), (64,)]})(np.linspace(-4, 10, 9, dtype=np.float32)))
