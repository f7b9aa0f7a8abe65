# SPDX-License-Identifier: Apache-2.0
"""The runtime that is used where none is given."""

import os
import sys
import threading

from tenon import _engine

_lock = threading.Lock()
_default = None


def _log_level():
    if "logging" not in sys.modules:
        return 2
    from tenon import _log
    return _log.wanted_level()


def default_runtime():
    """The tenon.Runtime that everything uses where no other is given; made when it is first asked for. Its log goes to
    logging.getLogger("tenon"), up to the level that this has then."""
    global _default
    with _lock:
        if _default is None:
            _default = _engine.Runtime(log_level=_log_level())
        return _default


def _after_fork():
    """In the child: what was made before has lost its threads, and refuses to be used; the default is made anew."""
    global _default, _lock
    _engine._count_fork()
    _default, _lock = None, threading.Lock()


os.register_at_fork(before=_engine._end_team, after_in_child=_after_fork)


def load_plugins(runtime, plugins):
    """Loads libraries: a path, or an iterable of paths, of (path, domain), and of operators made in Python (tenon.Plugin)."""
    if isinstance(plugins, (str, bytes, os.PathLike)) or hasattr(plugins, "load_into"):
        plugins = [plugins]
    for plugin in plugins:
        if hasattr(plugin, "load_into"):
            plugin.load_into(runtime)
            continue
        path, domain = plugin if isinstance(plugin, tuple) else (plugin, None)
        runtime.load_library(path, domain)
