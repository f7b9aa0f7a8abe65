# SPDX-License-Identifier: Apache-2.0
"""The failures that tenon.debug.reduce looks for."""

import copy
import os
import re
import subprocess
import sys
import tempfile

import numpy as np

import tenon

from . import _models
from ._compare import Sides

CRASH_SECONDS = 60  # a run in a process of its own that takes longer hangs: small models take far less than a second
_CRASH = """
import sys, numpy as np, tenon
inputs = dict(np.load(sys.argv[2], allow_pickle=True))
tenon.load(sys.argv[1], plugins=sys.argv[3:], shapes={name: array.shape for name, array in inputs.items()}, timing=False).run(inputs)
"""


def _settings_for(settings, piece):
    """Of the shapes those of inputs that are left; others have the arrays' shapes."""
    made = copy.copy(settings)
    if settings.shapes is not None:
        profiles = [settings.shapes] if hasattr(settings.shapes, "items") else settings.shapes
        made.shapes = [{name: profile.get(name, array.shape) for name, array in piece.inputs.items()} for profile in profiles]
    return made


class Differs:
    """Outputs that differ from those of onnxruntime, or of the references."""

    def __init__(self, against, settings, rtol, atol):
        self.against, self.settings, self.tolerance, self.why, self.is_finite = against, settings, (rtol, atol), "", True

    def _differs(self, piece):
        sides = Sides(piece.model, self.against, _settings_for(self.settings, piece), *self.tolerance, False)
        found, _ = sides.run(piece.inputs)
        rows = [row for row in [*found.outputs, *found] if row.difference]
        # A piece whose numbers are not finite differs for reasons of its own.
        row = next((row for row in rows if np.isfinite(row.difference.largest) or not self.is_finite), None)
        if row is not None:
            self.largest_is_finite = bool(np.isfinite(row.difference.largest))
            self.why = f"output '{row.tensor}' differs from {row.against or self.against}: {row.difference}"
        return row is not None

    def begin(self, piece):
        self.is_finite = False
        if not self._differs(piece):
            raise ValueError(f"the model does not differ from {self.against} on these inputs: there is nothing to reduce")
        self.is_finite = self.largest_is_finite

    def shows(self, piece):
        try:
            return self._differs(piece)
        except Exception:  # a piece that one of the two sides refuses
            return False


class FailsToBuild:
    """tenon.Error of a build, of the same code on the same operator."""

    def __init__(self, settings):
        self.settings, self.wanted, self.why = settings, None, ""

    def _error(self, piece):
        try:
            settings = _settings_for(self.settings, piece)
            settings.load(_models.graph(piece.model, settings), piece.inputs)
        except tenon.Error as error:
            return error
        return None

    @staticmethod
    def _kind(error):
        # Without an operator the text says what it is: names and numbers in it change with the model.
        return error.code, error.operator or re.sub(r"'[^']*'|\d+", "", str(error))

    def begin(self, piece):
        error = self._error(piece)
        if error is None:
            raise ValueError("the model builds: there is nothing to reduce")
        self.wanted = self._kind(error)

    def shows(self, piece):
        error = self._error(piece)
        if error is None or self._kind(error) != self.wanted:
            return False
        self.why = str(error)
        return True


class Crashes:
    """A run in a process of its own that ends by a signal, or not at all."""

    def __init__(self, settings):
        self.settings, self.why = settings, ""
        self.plugins = [getattr(plugin, "path", plugin) for plugin in settings.plugins]
        if any(not isinstance(plugin, (str, os.PathLike)) for plugin in self.plugins):
            raise TypeError("failure=\"crashes\": plugins are paths or tenon.Plugin")

    def _ending(self, piece):
        with tempfile.TemporaryDirectory() as folder:
            model, data = os.path.join(folder, "model.onnx"), os.path.join(folder, "inputs.npz")
            with open(model, "wb") as file:
                file.write(piece.model.SerializeToString())
            np.savez(data, **piece.inputs)
            path = os.pathsep.join([os.path.dirname(os.path.dirname(tenon.__file__)), *filter(None, sys.path)])
            command = [sys.executable, "-c", _CRASH, model, data, *map(os.fspath, self.plugins)]
            try:
                done = subprocess.run(command, env={**os.environ, "PYTHONPATH": path}, capture_output=True, timeout=CRASH_SECONDS)
            except subprocess.TimeoutExpired:
                return f"it runs for more than {CRASH_SECONDS} seconds"
        return f"it ends by signal {-done.returncode}" if done.returncode < 0 else ""

    def begin(self, piece):
        if not self.shows(piece):
            raise ValueError("the model neither crashes nor hangs on these inputs: there is nothing to reduce")

    def shows(self, piece):
        self.why = self._ending(piece)
        return bool(self.why)


class Given:
    """A function of the caller's."""

    def __init__(self, function):
        self.function, self.why = function, getattr(function, "__name__", "the function") + " is true"

    def begin(self, piece):
        if not self.function(piece.model, piece.inputs):
            raise ValueError("the function is false of the whole model: there is nothing to reduce")

    def shows(self, piece):
        try:
            return bool(self.function(piece.model, piece.inputs))
        except Exception:  # of a piece that the function cannot do with
            return False


def of(failure, settings, rtol, atol):
    if callable(failure):
        return Given(failure)
    made = {"differs from onnxruntime": lambda: Differs("onnxruntime", settings, rtol, atol),
            "differs from reference": lambda: Differs("reference", settings, rtol, atol),
            "fails to build": lambda: FailsToBuild(settings), "crashes": lambda: Crashes(settings)}
    if failure not in made:
        raise ValueError(f"failure: {failure!r} came; one of {', '.join(map(repr, made))}, or a function of (model, inputs), is wanted")
    return made[failure]()
