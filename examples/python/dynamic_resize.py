# SPDX-License-Identifier: Apache-2.0
"""A super-resolution network whose first layer resizes to a size that only a run knows: from a PyTorch module to a plan whose numbers are
PyTorch's. Test::DynamicTRTResize is bicubic resizing to the last two extents of a size tensor, of which only the shape is read."""
import numpy as np
import tenon
import tenon.torch
import torch
from torch import nn

resize = tenon.Plugin(
    "Test::DynamicTRTResize", {"image": "f32", "size": "any shape"}, {"output": "f32"}, {"align_corners": False},
    shape={"output": ["image[0]", "image[1]", "size[2]", "size[3]"]}, cases=["| image=f32[1,3,8,9] size=f32[1,1,16,18]"],
    extra_src="""
    typedef struct taps { int64_t index[4]; float weight[4]; } taps;
    static taps find_taps(int64_t i, int64_t in, int64_t out, bool aligned) {
        const double x = aligned ? i * (in - 1.0) / fmax(out - 1, 1) : (i + 0.5) * in / out - 0.5;
        taps t;
        for (int k = 0; k < 4; k++) {
            const double tap = floor(x) + k - 1, d = fabs(x - tap);
            t.index[k] = (int64_t)fmin(fmax(tap, 0), in - 1);
            t.weight[k] = d <= 1 ? (1.25 * d - 2.25) * d * d + 1 : ((-0.75 * d + 3.75) * d - 6) * d + 3;
        }
        return t;
    }""",
    forward="""
    const int64_t *in = image->shape, *out = output->shape;
    for (int64_t row = 0; row < tn_layer_rows(output); row++) {
        const taps v = find_taps(row % out[2], in[2], out[2], fields->align_corners);
        for (int64_t x = 0; x < out[3]; x++) {
            const taps h = find_taps(x, in[3], out[3], fields->align_corners);
            float sum = 0;
            for (int k = 0; k < 16; k++)
                sum += v.weight[k / 4] * h.weight[k % 4] *
                       ((const float *)image->data)[(row / out[2] * in[2] + v.index[k / 4]) * in[3] + h.index[k % 4]];
            ((float *)output->data)[row * out[3] + x] = sum;
        }
    }""")
tenon.torch.register(resize)  # as torch.ops.Test.DynamicTRTResize


class SuperResolution(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Conv2d(3, 64, 9, padding=4), nn.ReLU(), nn.Conv2d(64, 32, 1), nn.ReLU(), nn.Conv2d(32, 3, 5, padding=2))

    def forward(self, image, factor):
        return self.layers(torch.ops.Test.DynamicTRTResize(image, factor))


module = SuperResolution().eval()
shapes = {"image": [(1, 3, 16, 16), (1, 3, 32, 32), (1, 3, 64, 64)], "factor": [(1, 1, 16, 16), (1, 1, 64, 64), (1, 1, 128, 128)]}
tenon.torch.convert(module, (torch.zeros(1, 3, 32, 32), torch.zeros(1, 1, 64, 64)), shapes=shapes).plan.save("super_resolution.plan")
network = tenon.load("super_resolution.plan", plugins=[resize])
image, factor = torch.rand(1, 3, 40, 48), torch.zeros(1, 1, 96, 100)  # another size than that which it was made with
with torch.no_grad():
    expected = module.layers(nn.functional.interpolate(image, (96, 100), mode="bicubic")).numpy()
assert np.allclose(network(image, factor), expected, rtol=1e-3, atol=1e-5)
print("the plan and PyTorch agree")
