# SPDX-License-Identifier: Apache-2.0
"""Types of tenon.debug; help() has the words."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

import tenon

_Inputs: TypeAlias = Mapping[str, ArrayLike] | tuple[ArrayLike, ...] | ArrayLike
_Against: TypeAlias = (str | tenon.Plan | tenon.Engine | tenon.Network | Mapping[str, ArrayLike]
                       | Callable[[dict[str, np.ndarray[Any, Any]]], Mapping[str, ArrayLike]])

class Difference:
    wrong: int
    count: int
    largest: float
    loss: float
    at: tuple[int, ...]
    got: Any
    wanted: Any
    why: str
    def __bool__(self) -> bool: ...

class Row:
    outcome: Literal["same", "differs", "follows", "alone"]
    node: str
    op: str
    tensor: str
    kernel: str
    library: str
    dtype: str
    shape: tuple[int, ...]
    difference: Difference
    against: str
    def cells(self) -> tuple[str, ...]: ...

class Comparison(list[Row]):
    against: str
    notes: list[str]
    outputs: list[Row]
    inside: Comparison | None
    @property
    def first(self) -> Row | None: ...
    @property
    def differing(self) -> list[Row]: ...
    @property
    def ok(self) -> bool: ...
    def shown(self) -> list[Row]: ...
    def summary(self) -> str: ...

class Cost:
    node: str
    op: str
    kernel: str
    loss: float
    group: int
    is_kept: bool
    def cells(self) -> tuple[str, ...]: ...

class Costs(list[Cost]):
    bound: float
    precision: str
    loss: float
    kept_loss: float
    keep: list[str]
    builds: int
    @property
    def ok(self) -> bool: ...
    def shown(self) -> list[Cost]: ...
    def summary(self) -> str: ...

class Reduced:
    model: Any
    inputs: dict[str, np.ndarray[Any, Any]]
    nodes: int
    nodes_before: int
    tries: int
    why: str
    def save(self, folder: str) -> str: ...

def compare(model: Any, inputs: _Inputs, against: _Against = "onnxruntime", *, every_node: bool = False, plugins: Any = (),
            shapes: Any = None, rtol: float | None = None, atol: float | None = None, runtime: tenon.Runtime | None = None,
            threads: int = 0, device: str | None = None, show: bool = True, **options: Any) -> Comparison: ...
def bisect(model: Any, inputs: _Inputs | list[_Inputs], precision: str = "bf16", *, max_loss: float = 0.01, plugins: Any = (),
           shapes: Any = None, runtime: tenon.Runtime | None = None, threads: int = 0, device: str | None = None, show: bool = True,
           **options: Any) -> Costs: ...
def reduce(model: Any, inputs: _Inputs | None = None,
           failure: str | Callable[[Any, dict[str, np.ndarray[Any, Any]]], bool] = "differs from onnxruntime", *, plugins: Any = (),
           shapes: Any = None, rtol: float | None = None, atol: float | None = None, runtime: tenon.Runtime | None = None, threads: int = 0,
           device: str | None = None, seconds: float = 300.0, show: bool = True, **options: Any) -> Reduced: ...
