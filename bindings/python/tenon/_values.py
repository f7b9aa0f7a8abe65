# SPDX-License-Identifier: Apache-2.0
"""What callers give inputs that are no arrays: sequences, optionals and maps as lists of items."""

import numpy as np

from tenon import _arrays

INTEGERS = (int, np.integer)


def _refuse(name, given, wanted, where=""):
    return _arrays.error("TN_ERROR_TYPE", f"input '{name}'{where}: {type(given).__name__} came, {wanted} is wanted")


def _array(given, wanted, name):
    """An array that lies packed; the extension checks its type."""
    array = _arrays.as_array(given, wanted, "input", name)
    return np.asarray(array, order="C")


def _keys(mapping, key_type, name, where):
    for key in mapping:
        if key_type == "i64" and (not isinstance(key, INTEGERS) or isinstance(key, bool)):
            raise _refuse(name, key, "a whole number", f"{where}: the key {key!r}")
        if key_type == "string" and not isinstance(key, str):
            raise _refuse(name, key, "a text", f"{where}: the key {key!r}")
    if key_type == "string":
        return _arrays.of_strings(list(mapping), (len(mapping),))
    try:
        return np.array(list(mapping), np.int64)
    except OverflowError:
        raise _arrays.error("TN_ERROR_RANGE", f"input '{name}'{where}: a key is outside of 64 bits") from None


def _map_values(mapping, type_name, name, where):
    values = list(mapping.values())
    for key, value in mapping.items():
        is_text = isinstance(value, str)
        if is_text != (type_name == "string") or np.ndim(value) != 0 or value is None:
            raise _refuse(name, value, "a text" if type_name == "string" else f"a number of type {type_name}",
                          f"{where}: the value of {key!r}")
        if type_name == "i64" and not isinstance(value, INTEGERS):
            raise _refuse(name, value, "a whole number", f"{where}: the value of {key!r}")
    if type_name == "string":
        return _arrays.of_strings(values, (len(values),))
    try:
        return np.array(values, _arrays.dtype(type_name)).reshape(len(values))
    except (TypeError, ValueError, OverflowError) as reason:
        raise _arrays.error("TN_ERROR_TYPE", f"input '{name}'{where}: the values are no numbers of type {type_name}: {reason}") from None


def _map_items(given, type_name, key_type, name, where=""):
    if not hasattr(given, "keys") or not hasattr(given, "values"):
        raise _refuse(name, given, "a dict", where)
    given = dict(given)
    return [_keys(given, key_type, name, where), _map_values(given, type_name, name, where)]


def items(given, kind, type_name, key_type, name):
    """The items of an input, packed arrays; of maps keys and values in turn."""
    wanted = _arrays.dtype(type_name)
    if kind == "map":
        return _map_items(given, type_name, key_type, name)
    if kind == "optional":
        return [] if given is None else [_array(given, wanted, name)]
    if kind == "optional sequence" and given is None:
        return []
    if isinstance(given, (str, bytes, dict, np.ndarray)) or not hasattr(given, "__iter__"):
        raise _refuse(name, given, "a list of dicts" if kind == "sequence of maps" else "a list of arrays")
    if kind == "sequence of maps":
        return [item for index, entry in enumerate(given)
                for item in _map_items(entry, type_name, key_type, name, f", map {index}")]
    return [_array(item, wanted, name) for item in given]
