# SPDX-License-Identifier: Apache-2.0
"""onnxruntime's exceptions by their names. Each is a tenon.Error as well, with the same fields, so that either is caught."""

import contextlib

import tenon


class _Failure(tenon.Error):
    _number = 1
    _label = "FAIL"

    def __init__(self, message="", *arguments):
        super().__init__(f"[{self._label}] {message}" if message else self._label, *arguments)


def _exception(name, number, label, doc):
    return type(name, (_Failure,), {"__module__": "tenon.onnxruntime.capi.onnxruntime_pybind11_state", "__doc__": doc,
                                    "_number": number, "_label": label})


Fail = _exception("Fail", 1, "FAIL", "What has no other name: a plugin that fails, a file that cannot be read.")
InvalidArgument = _exception("InvalidArgument", 2, "INVALID_ARGUMENT", "An input, output or option that does not fit.")
NoSuchFile = _exception("NoSuchFile", 3, "NO_SUCHFILE", "The model's file, or one that it names, is not there.")
NoModel = _exception("NoModel", 4, "NO_MODEL", "There is no model.")
EngineError = _exception("EngineError", 5, "ENGINE_ERROR", "An engine that cannot be loaded.")
RuntimeException = _exception("RuntimeException", 6, "RUNTIME_EXCEPTION", "Memory that is not there, and the like.")
InvalidProtobuf = _exception("InvalidProtobuf", 7, "INVALID_PROTOBUF", "Bytes that are no model.")
ModelLoaded = _exception("ModelLoaded", 8, "MODEL_LOADED", "A model that is loaded already.")
NotImplemented = _exception("NotImplemented", 9, "NOT_IMPLEMENTED", "What Tenon has not, an operator for example.")
InvalidGraph = _exception("InvalidGraph", 10, "INVALID_GRAPH", "A model whose nodes contradict one another.")
EPFail = _exception("EPFail", 11, "EP_FAIL", "A device that fails.")
ModelLoadCanceled = _exception("ModelLoadCanceled", 12, "MODEL_LOAD_CANCELED", "A session whose creation was cancelled.")
ModelRequiresCompilation = _exception("ModelRequiresCompilation", 13, "MODEL_REQUIRES_COMPILATION", "Not raised by Tenon.")
NotFound = _exception("NotFound", 14, "NOT_FOUND", "A name that is not there.")
DeviceReset = _exception("DeviceReset", 15, "DEVICE_RESET", "Not raised by Tenon.")

NAMES = ("Fail", "InvalidArgument", "NoSuchFile", "NoModel", "EngineError", "RuntimeException", "InvalidProtobuf", "ModelLoaded",
         "NotImplemented", "InvalidGraph", "EPFail", "ModelLoadCanceled", "ModelRequiresCompilation", "NotFound", "DeviceReset")

_ANYTIME = {"TN_ERROR_UNSUPPORTED": NotImplemented, "TN_ERROR_MEMORY": RuntimeException, "TN_ERROR_CANCELLED": ModelLoadCanceled,
            "TN_ERROR_IO": Fail, "TN_ERROR_PLUGIN": Fail, "TN_ERROR_DEVICE": EPFail}
_AT_CREATION = {**_ANYTIME, "TN_ERROR_FORMAT": InvalidProtobuf, "TN_ERROR_ARGUMENT": InvalidGraph, "TN_ERROR_SHAPE": InvalidGraph,
                "TN_ERROR_TYPE": InvalidGraph, "TN_ERROR_RANGE": InvalidGraph, "TN_ERROR_NOT_FOUND": NoSuchFile}
_AT_RUN = {**_ANYTIME, "TN_ERROR_ARGUMENT": InvalidArgument, "TN_ERROR_SHAPE": InvalidArgument, "TN_ERROR_TYPE": InvalidArgument,
           "TN_ERROR_RANGE": InvalidArgument, "TN_ERROR_NOT_FOUND": InvalidArgument}
_FIELDS = ("code", "message", "where", "node", "operator", "library", "file", "mend", "offset", "line", "column")


def _translated(error, table):
    made = table.get(error.code, Fail)(str(error))
    for field in _FIELDS:
        setattr(made, field, getattr(error, field, None))
    return made


@contextlib.contextmanager
def _named(table):
    try:
        yield
    except _Failure:
        raise
    except tenon.Error as error:
        raise _translated(error, table) from error


def at_creation():
    """A context in which a tenon.Error becomes the exception that onnxruntime has for it when a session is made."""
    return _named(_AT_CREATION)


def at_run():
    """The same in a run."""
    return _named(_AT_RUN)
