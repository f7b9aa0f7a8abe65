# SPDX-License-Identifier: Apache-2.0
"""Options of sessions and runs, with every attribute that onnxruntime's have. docs/python-onnxruntime.md says which do something."""

import enum
import os

from . import _errors


class GraphOptimizationLevel(enum.IntEnum):
    """ORT_DISABLE_ALL keeps one kernel a node; the others are the same to Tenon."""
    ORT_DISABLE_ALL = 0
    ORT_ENABLE_BASIC = 1
    ORT_ENABLE_EXTENDED = 2
    ORT_ENABLE_LAYOUT = 3
    ORT_ENABLE_ALL = 99


class ExecutionMode(enum.IntEnum):
    """Tenon runs one node after the other, each on all threads."""
    ORT_SEQUENTIAL = 0
    ORT_PARALLEL = 1


class ExecutionOrder(enum.IntEnum):
    """Tenon's builder decides the order."""
    DEFAULT = 0
    PRIORITY_BASED = 1
    MEMORY_EFFICIENT = 2


class _Attributes:
    """Attributes of one type each, from a table NAME: (type, default); others are refused."""

    __slots__ = ("_values", "_entries")
    _table = {}

    def __init__(self):
        object.__setattr__(self, "_values", {name: default for name, (_, default) in self._table.items()})
        object.__setattr__(self, "_entries", {})

    def __getattr__(self, name):
        if name in self._table:
            return self._values[name]
        raise AttributeError(f"{type(self).__name__} has no attribute '{name}'; it has {', '.join(sorted(self._table))}")

    def __setattr__(self, name, value):
        if name not in self._table:
            raise AttributeError(f"{type(self).__name__} has no attribute '{name}'; it has {', '.join(sorted(self._table))}")
        kind = self._table[name][0]
        if kind is str and isinstance(value, os.PathLike):
            value = os.fspath(value)
        if kind is int and hasattr(value, "__index__") and not isinstance(value, enum.Enum):
            value = value.__index__()
        if not isinstance(value, kind):
            raise TypeError(f"{type(self).__name__}.{name} takes {kind.__name__}, not {value!r}")
        self._values[name] = value

    def __dir__(self):
        return [*super().__dir__(), *self._table]

    def _add_entry(self, key, value):
        if not isinstance(key, str) or not isinstance(value, str):
            raise TypeError(f"an entry is two texts, key and value, not {key!r} and {value!r}")
        self._entries[key] = value

    def _get_entry(self, key):
        if key not in self._entries:
            raise RuntimeError(f"no entry has the key '{key}'; there are {', '.join(sorted(self._entries)) or 'none'}")
        return self._entries[key]


# Entries of sessions that Tenon reads, with the option of tenon.build that each becomes.
ENTRIES = ("tenon.timing_seconds", "tenon.timing_cache", "tenon.precision", "tenon.plugins")


class SessionOptions(_Attributes):
    """Options of a session. Tenon's own are entries: add_session_config_entry("tenon.timing_seconds", "5")."""

    __slots__ = ("_overrides", "_providers")
    _table = {
        "enable_cpu_mem_arena": (bool, True), "enable_mem_pattern": (bool, True), "enable_mem_reuse": (bool, True),
        "enable_profiling": (bool, False), "execution_mode": (ExecutionMode, ExecutionMode.ORT_SEQUENTIAL),
        "execution_order": (ExecutionOrder, ExecutionOrder.DEFAULT),
        "graph_optimization_level": (GraphOptimizationLevel, GraphOptimizationLevel.ORT_ENABLE_ALL),
        "inter_op_num_threads": (int, 0), "intra_op_num_threads": (int, 0), "log_severity_level": (int, -1),
        "log_verbosity_level": (int, 0), "logid": (str, ""), "optimized_model_filepath": (str, ""),
        "profile_file_prefix": (str, "onnxruntime_profile_"), "use_deterministic_compute": (bool, False),
        "use_per_session_threads": (bool, True)}

    def __init__(self):
        super().__init__()
        object.__setattr__(self, "_overrides", {})
        object.__setattr__(self, "_providers", [])

    def add_session_config_entry(self, key, value):
        """Keeps an entry. Those that begin with 'tenon.' are Tenon's, the others are read by nobody."""
        if isinstance(key, str) and key.startswith("tenon.") and key not in ENTRIES:
            raise _errors.InvalidArgument(f"no entry of Tenon is called '{key}'; there are {', '.join(ENTRIES)}")
        self._add_entry(key, value)

    def get_session_config_entry(self, key):
        return self._get_entry(key)

    def add_free_dimension_override_by_name(self, dim_name, dim_value):
        """The extent of this name is fixed, so that kernels are chosen for it."""
        if not isinstance(dim_name, str):
            raise TypeError(f"the extent's name is wanted, not {dim_name!r}")
        value = dim_value.__index__() if hasattr(dim_value, "__index__") else -1
        if value < 0:
            raise _errors.InvalidArgument(f"extent '{dim_name}': a number of at least 0 is wanted, not {dim_value!r}")
        self._overrides[dim_name] = value

    def add_free_dimension_override_by_denotation(self, denotation, dim_value):
        """Refused: Tenon reads names of extents, no denotations."""
        raise _errors.NotImplemented(f"denotation '{denotation}': Tenon does not read denotations of extents; "
                                     "add_free_dimension_override_by_name takes the extent's name")

    def add_initializer(self, name, value):
        """Refused: a session builds its model as it is."""
        raise _errors.NotImplemented(f"initializer '{name}': a session does not replace initializers; tenon.build(..., refit=[...]) "
                                     "makes a plan whose constants get new data")

    def add_external_initializers(self, names, values):
        """Refused, as add_initializer."""
        self.add_initializer(", ".join(names), values)

    def add_external_initializers_from_files_in_memory(self, names, buffers, lengths):
        """Refused: external data is read from the files that the model names."""
        raise _errors.NotImplemented(f"files {', '.join(names)}: external data is read from files beside the model, not from memory; "
                                     "write them there")

    def register_custom_ops_library(self, path):
        """Refused: such a library has its kernels for onnxruntime's interface."""
        raise _errors.NotImplemented(
            f"'{os.fspath(path)}' is a library of kernels for onnxruntime's interface, which Tenon does not load. Its operators become a "
            "Tenon plugin (docs/first-layer.md; `tenon plugin new` writes one to begin with), which a session loads by "
            'add_session_config_entry("tenon.plugins", "libmy_layers.so")')

    def add_provider(self, name, options=None):
        """A provider for sessions that are created without any."""
        self._providers.append((name, dict(options or {})))

    def add_provider_for_devices(self, devices, options=None):
        raise _errors.NotImplemented("devices of plugin providers: Tenon has its own; add_provider takes a provider's name")

    def has_providers(self):
        return bool(self._providers)

    def set_provider_selection_policy(self, policy):
        """Nothing: there is one provider a device."""

    def set_provider_selection_policy_delegate(self, delegate):
        """Nothing, as set_provider_selection_policy."""

    def set_load_cancellation_flag(self, value):
        raise _errors.NotImplemented("a session's creation is not cancelled by a flag: Ctrl-C ends it, and tenon.build's progress does")

    def set_ep_context_data_read_func(self, function):
        raise _errors.NotImplemented("models with contexts of providers are not read")

    def clear_ep_context_data_read_func(self):
        """Nothing: there is none."""


class RunOptions(_Attributes):
    """Options of a run. `terminate` refuses the runs that begin after it was set."""

    __slots__ = ()
    _table = {"log_severity_level": (int, -1), "log_verbosity_level": (int, 0), "logid": (str, ""),
              "only_execute_path_to_fetches": (bool, False), "terminate": (bool, False)}

    def add_run_config_entry(self, key, value):
        """Keeps an entry, which nobody reads."""
        self._add_entry(key, value)

    def get_run_config_entry(self, key):
        return self._get_entry(key)

    def add_active_adapter(self, adapter):
        raise _errors.NotImplemented("adapters (LoRA) are not supported: merge it into the model")
