# SPDX-License-Identifier: Apache-2.0
"""Plans as files."""

import os

MAGIC = b"\x89TENON\r\n"


def read(path):
    with open(path, "rb") as file:
        return file.read()


def save(plan, path):
    """Writes beside the file and renames, as tn_plan_save does."""
    import tempfile
    path = os.fspath(path)
    handle, beside = tempfile.mkstemp(dir=os.path.dirname(os.path.abspath(path)), prefix=os.path.basename(path))
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(plan.tobytes())
        os.chmod(beside, 0o644)
        os.replace(beside, path)
    except BaseException:
        os.unlink(beside)
        raise


def refit(plan, weights, path):
    """A plan that is no file is one meanwhile."""
    import contextlib
    import tempfile
    from tenon import _engine
    with contextlib.ExitStack() as stack:
        source = plan.path
        if source is None:
            source = os.path.join(stack.enter_context(tempfile.TemporaryDirectory()), "network.plan")
            plan.save(source)
        _engine.refit_plan(plan.runtime, os.fsencode(source), weights, os.fsencode(path))
    return _engine.Plan(path, plan.runtime)


def is_plan(source):
    """Whether a file, or bytes, are a plan."""
    if isinstance(source, (bytes, bytearray, memoryview)):
        return bytes(source[:len(MAGIC)]) == MAGIC
    if not isinstance(source, (str, os.PathLike)):
        return False
    try:
        with open(source, "rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except OSError:
        return False # whoever reads it says why
