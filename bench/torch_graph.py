# SPDX-License-Identifier: Apache-2.0
"""PyTorch's side of the benchmarks on a GPU: a CUDA graph, and how long its replays take."""
import torch

WARM_RUNS = 4


def captured(step):
    """The graph of a call of `step` after some that warm up, and what it answers: tensors that each replay writes."""
    side = torch.cuda.Stream()
    with torch.no_grad(), torch.cuda.stream(side):
        for _ in range(WARM_RUNS):
            step()
        side.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=side):
            result = step()
    return graph, result


def replay_us(graph, replays):
    """Microseconds of a replay, of so many one after the other."""
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    begin.record()
    for _ in range(replays):
        graph.replay()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) * 1e3 / replays
