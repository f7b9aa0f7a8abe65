# SPDX-License-Identifier: Apache-2.0
"""Plans on a Ray cluster (pip install tenon-engine[ray]): predictor() for Ray Data, deployment() for Ray Serve.

_plans: a plan in the cluster's object store, once a node, from where engines read it without a copy. _rows: batches of rows by a
network. _predictor, _deployment: what Ray runs; _ask, _retries: requests, by handle and over HTTP, that survive a replica that dies.
"""

from ._ask import ask
from ._deployment import deployment
from ._plans import forget
from ._predictor import predictor
from ._retries import http_retries

__all__ = ["ask", "deployment", "forget", "http_retries", "predictor"]
