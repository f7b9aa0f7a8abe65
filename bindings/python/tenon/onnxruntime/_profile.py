# SPDX-License-Identifier: Apache-2.0
"""What SessionOptions.enable_profiling gathers: an event a run, in the format of trace viewers."""

import json
import os
import time


class Profile:
    def __init__(self, prefix):
        self.start_ns = time.perf_counter_ns()
        self._path = f"{prefix}{time.strftime('%Y-%m-%d_%H-%M-%S')}.json"
        self._events = []

    def add(self, begin_ns, end_ns, feed):
        shapes = {name: list(getattr(array, "shape", ())) for name, array in feed.items()}
        self._events.append({"cat": "Session", "pid": os.getpid(), "tid": 0, "ph": "X", "name": "model_run", "args": shapes,
                             "ts": (begin_ns - self.start_ns) // 1000, "dur": (end_ns - begin_ns) // 1000})

    def write(self):
        with open(self._path, "w", encoding="utf-8") as file:
            json.dump(self._events, file)
        return self._path
