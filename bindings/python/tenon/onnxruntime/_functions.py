# SPDX-License-Identifier: Apache-2.0
"""Functions of the module: logging, versions, and what Tenon has no use for."""

import logging

import tenon

from . import _errors

INTERFACE_VERSION = "1.31.1"  # of onnxruntime, whose names these are
_LEVELS = (logging.DEBUG, logging.INFO, logging.WARNING, logging.ERROR, logging.CRITICAL)


def set_default_logger_severity(severity):
    """0: all, 1: information, 2: warnings, 3: errors, 4: nothing but what is fatal; sets the level of logging's logger "tenon"."""
    if severity not in range(len(_LEVELS)):
        raise _errors.InvalidArgument(f"severity {severity!r}: 0 (all) to 4 (fatal) is wanted")
    logging.getLogger("tenon").setLevel(_LEVELS[severity])


def set_default_logger_verbosity(verbosity):
    """Nothing: severity 0 logs all."""


def disable_telemetry_events():
    """Nothing: Tenon sends none."""


def enable_telemetry_events():
    """Nothing: Tenon sends none."""


def get_version_string():
    """The version of onnxruntime's interface that this module follows; tenon.__version__ is Tenon's."""
    return INTERFACE_VERSION


def get_build_info():
    return f"Tenon {tenon.__version__}"


def set_seed(seed):
    """Nothing: operators that draw random numbers have their seed in the model."""


def set_global_thread_pool_sizes(intra_op_num_threads, inter_op_num_threads):
    """Nothing: SessionOptions.intra_op_num_threads is each session's."""


def has_collective_ops():
    return False


def get_ep_devices():
    """None: devices are Tenon's own (tenon.Runtime.devices)."""
    return []


def register_execution_provider_library(registration_name, library_path):
    raise _errors.NotImplemented(f"'{library_path}': libraries of providers are onnxruntime's; Tenon's devices and kernels are plugins "
                                 '(SessionOptions.add_session_config_entry("tenon.plugins", "libmy_layers.so"))')


def unregister_execution_provider_library(registration_name):
    raise _errors.NotImplemented(f"'{registration_name}': no library of a provider is registered")


def create_and_register_allocator(memory_info, arena_cfg):
    raise _errors.NotImplemented("allocators are Tenon's own")


def preload_dlls(cuda=True, cudnn=True, msvc=True, directory=None):
    """Nothing: libraries are loaded when they are needed."""


def print_debug_info():
    print(get_build_info())
    for library in tenon.default_runtime().libraries:
        print(f"{library['name']} {library['version']}: {library['operators']} operators, {library['kernels']} kernels")
