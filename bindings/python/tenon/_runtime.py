# SPDX-License-Identifier: Apache-2.0
"""The runtime that is used where none is given, and what is installed beside the package."""

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


def get_include():
    """The folder of the C headers (tenon/plugin.h, tenon/kit/...), for the compiler's -I."""
    package = os.path.dirname(os.path.abspath(__file__))
    installed = os.path.join(package, "include")
    return installed if os.path.isdir(installed) else _source_include()


def _source_include():
    from tenon import _source  # of a package in a build folder, which CMake writes
    return _source.INCLUDE
