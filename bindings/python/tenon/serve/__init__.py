# SPDX-License-Identifier: Apache-2.0
"""Plans served over the Open Inference Protocol, version 2: `tenon-serve`, on MLServer (pip install tenon-engine[serve]).

_settings: what is served, and the bounds. _protocol: requests and responses of HTTP. _spec: what a network's inputs must be.
_pool: contexts, batches, deadlines. _served: one version of a model. These need NumPy alone. _repository, _http, _grpc and
_server put them into MLServer; _command is the program.
"""

from ._errors import RequestError
from ._settings import Model, Settings

__all__ = ["Model", "RequestError", "Settings"]
