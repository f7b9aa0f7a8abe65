# SPDX-License-Identifier: Apache-2.0
"""Prometheus' metrics of what is served. Labels are names and versions of loaded models: their number is bounded."""

from prometheus_client import REGISTRY, Counter, Gauge, Histogram

# Seconds: a LeNet runs for 30 us, a large network for a second.
SECONDS = (5e-5, 1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 5e-3, 1e-2, 2e-2, 5e-2, 0.1, 0.2, 0.5, 1, 2, 5, 10)
ROWS = (1, 2, 4, 8, 16, 32, 64, 128, 256)
LABELS = ("model", "version")


class Metrics:
    """All that the server counts."""

    def __init__(self, registry=REGISTRY):
        self.requests = Counter("tenon_requests", "Requests by their HTTP status", (*LABELS, "protocol", "status"), registry=registry)
        self.request_seconds = Histogram("tenon_request_seconds", "From a whole request to its response", (*LABELS, "protocol"),
                                         buckets=SECONDS, registry=registry)
        self.queue_seconds = Histogram("tenon_queue_seconds", "That a request waited for a context", LABELS, buckets=SECONDS,
                                       registry=registry)
        self.run_seconds = Histogram("tenon_run_seconds", "Of a run", LABELS, buckets=SECONDS, registry=registry)
        self.batch_rows = Histogram("tenon_batch_rows", "Rows that ran together", LABELS, buckets=ROWS, registry=registry)
        self.waiting = Gauge("tenon_waiting_requests", "Requests that wait for a context", LABELS, registry=registry)
        self.running = Gauge("tenon_busy_contexts", "Contexts that run", LABELS, registry=registry)

    def of(self, name, version):
        return OfModel(self, name, version)


class OfModel:
    """Those of one version, with the labels looked up once."""

    def __init__(self, metrics, name, version):
        self._all = metrics
        self._labels = (name, version)
        self._queue = metrics.queue_seconds.labels(name, version)
        self._run = metrics.run_seconds.labels(name, version)
        self._rows = metrics.batch_rows.labels(name, version)

    def watch(self, pool):
        self._all.waiting.labels(*self._labels).set_function(lambda: pool.waiting)
        self._all.running.labels(*self._labels).set_function(lambda: pool.running)

    def forget(self):
        for each in (self._all.waiting, self._all.running):
            each.labels(*self._labels).set_function(lambda: 0)

    def started(self, waited_seconds, rows):
        for seconds in waited_seconds:
            self._queue.observe(seconds)
        self._rows.observe(rows)

    def ran(self, seconds):
        self._run.observe(seconds)

    def answered(self, protocol, status, seconds):
        self._all.requests.labels(*self._labels, protocol, str(status)).inc()
        self._all.request_seconds.labels(*self._labels, protocol).observe(seconds)
