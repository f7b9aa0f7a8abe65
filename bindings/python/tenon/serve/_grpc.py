# SPDX-License-Identifier: Apache-2.0
"""The protocol over gRPC: MLServer's messages, with raw contents used where they lie."""

import asyncio
import time

import grpc
import numpy as np
from google.protobuf.message import DecodeError
from google.protobuf.message_factory import GetMessageClass
from mlserver.grpc import dataplane_pb2 as pb
from mlserver.grpc.server import GRPCServer
from mlserver.grpc.servicers import InferenceServicer

from . import _protocol
from ._errors import RequestError
from ._settings import MIB
from ._spec import check_shape

CONTENTS = {"BOOL": "bool_contents", "UINT8": "uint_contents", "UINT16": "uint_contents", "UINT32": "uint_contents",
            "UINT64": "uint64_contents", "INT8": "int_contents", "INT16": "int_contents", "INT32": "int_contents",
            "INT64": "int64_contents", "FP32": "fp32_contents", "FP64": "fp64_contents", "BYTES": "bytes_contents"}
SERVICE = pb.DESCRIPTOR.services_by_name["GRPCInferenceService"]
PATH = f"/{SERVICE.full_name}/"
MOST_TEXT = 600  # characters of an error: headers of HTTP/2 have 8 KiB, in which one may be 12 bytes


def parameter(message, name):
    """A parameter's value, whatever its type; None."""
    if name not in message.parameters:
        return None
    value = message.parameters[name]
    kind = value.WhichOneof("parameter_choice")
    return getattr(value, kind) if kind else None


def read(message, spec):
    """The Request of a ModelInferRequest, as _protocol.read. Raises RequestError."""
    raw = message.raw_input_contents
    if raw and len(raw) != len(message.inputs):
        raise RequestError(400, f"{len(raw)} raw_input_contents came for {len(message.inputs)} inputs")
    timeout = parameter(message, "timeout") or 0
    if isinstance(timeout, bool) or not isinstance(timeout, int) or timeout < 0:
        raise RequestError(400, "timeout: whole microseconds from 0 are wanted")
    request = _protocol.Request(message.id, {}, {}, bool(raw), timeout)
    for i, tensor in enumerate(message.inputs):
        if tensor.name in request.arrays:
            raise RequestError(400, f"input '{tensor.name}' came twice")
        request.arrays[tensor.name] = _input(tensor, raw[i] if raw else None, spec)
    for output in message.outputs:
        _protocol.refuse_shared_memory(output.parameters, f"output '{output.name}'")
        request.outputs[output.name] = True
    spec.check(request.arrays)
    return request


def _input(tensor, raw, spec):
    name, datatype = tensor.name, tensor.datatype
    spec.check_type(name, datatype)
    shape = check_shape(name, list(tensor.shape))
    _protocol.refuse_shared_memory(tensor.parameters, f"input '{name}'")
    given = [field.name for field, _ in tensor.contents.ListFields()]
    if raw is not None:
        if given:
            raise RequestError(400, f"input '{name}' has raw_input_contents and {given[0]}: one is wanted")
        return _protocol.from_bytes(name, datatype, shape, raw)
    wanted = CONTENTS.get(datatype)
    if wanted is None or given not in ([], [wanted]):
        raise RequestError(400, f"input '{name}': {datatype} is wanted as {'raw_input_contents or ' + wanted if wanted else 'raw_input_contents'}"
                           f", {', '.join(given) or 'nothing'} came")
    values = getattr(tensor.contents, wanted)
    if datatype == "BYTES":
        return _protocol._objects(shape, _protocol._counted(name, datatype, list(values), _protocol.count(shape)))
    return _protocol.from_list(name, datatype, shape, list(values))


def write(served, request, results):
    """The ModelInferResponse: raw where the request was, or where an output has no typed contents."""
    message = pb.ModelInferResponse(model_name=served.name, model_version=served.version, id=request.id)
    is_raw = request.is_binary or any(array.dtype == np.float16 for array in results.values())
    for name, array in results.items():
        datatype = _protocol.datatype_of(array)
        output = message.outputs.add(name=name, datatype=datatype, shape=array.shape)
        if is_raw:
            message.raw_output_contents.append(bytes(_protocol.to_bytes(array)))
        else:
            items = array.ravel().tolist()
            if datatype == "BYTES":
                items = [text if isinstance(text, bytes) else text.encode("utf-8", "surrogateescape") for text in items]
            getattr(output.contents, CONTENTS[datatype]).extend(items)
    return message


async def refuse(context, error):
    text = str(error)
    await context.abort(getattr(grpc.StatusCode, error.grpc), text if len(text) <= MOST_TEXT else text[:MOST_TEXT] + "...")


class Servicer(InferenceServicer):
    """MLServer's, with the methods that reach models and the repository. A RequestError is the call's status (_handler)."""

    def __init__(self, data_plane, handlers, repository):
        super().__init__(data_plane, handlers)
        self._repository = repository

    async def ModelInfer(self, request, context):
        start, status, served = time.monotonic(), 200, None
        try:
            served = await self._repository.find(request.model_name, request.model_version)
            asked = read(request, served.spec)
            results = await served.run(asked, _deadline(start, asked, context))
            return write(served, asked, results)
        except RequestError as error:
            status = error.status
            raise
        finally:
            if served and served.metrics:
                served.metrics.answered("grpc", status, time.monotonic() - start)

    async def ModelStreamInfer(self, requests, context):
        await refuse(context, RequestError(501, "ModelStreamInfer: streams are not had here: ModelInfer answers one request"))
        yield  # a generator, as gRPC wants it

    async def ModelReady(self, request, context):
        await self._repository.find(request.name, request.version)
        return pb.ModelReadyResponse(ready=True)

    async def ModelMetadata(self, request, context):
        served = await self._repository.find(request.name, request.version)
        return pb.ModelMetadataResponse(**served.metadata())

    async def RepositoryIndex(self, request, context):
        items = await self._repository.index(request.ready)
        return pb.RepositoryIndexResponse(models=[pb.RepositoryIndexResponse.ModelIndex(**item) for item in items])

    async def RepositoryModelLoad(self, request, context):
        if getattr(request, "parameters", None):
            raise RequestError(501, "load: parameters are not had here: what is loaded, the server's settings say")
        await self._repository.load(request.model_name)
        return pb.RepositoryModelLoadResponse()

    async def RepositoryModelUnload(self, request, context):
        await self._repository.unload(request.model_name)
        return pb.RepositoryModelUnloadResponse()


def _deadline(start, request, context):
    """The earlier one of the call's own and the request's timeout."""
    left = context.time_remaining()
    ends = [start + left] if left is not None else []
    if request.timeout_us:
        ends.append(start + request.timeout_us / 1e6)
    return min(ends, default=float("inf"))


class Absent(grpc.GenericRpcHandler):
    """Methods of Triton's that are not had: refused by name."""

    def service(self, details):
        if not details.method.startswith(PATH):
            return None
        name = details.method[len(PATH):][:128]
        what = "shared memory is" if "SharedMemory" in name else f"{name} is"

        async def method(request, context):
            await refuse(context, RequestError(501, f"{name}: {what} not had here"))
        return grpc.unary_unary_rpc_method_handler(method)


def handlers_of(servicer, receive_seconds):
    """The service's methods by name."""
    return {method.name: _handler(method, getattr(servicer, method.name), receive_seconds) for method in SERVICE.methods}


def _handler(method, function, receive_seconds):
    """A method with a bound on the time in which its message must have come. It is had as a stream of one, which is the same to a caller: gRPC itself
    would wait without end, and a message that is none would be an error of the server's."""
    read_message = GetMessageClass(method.input_type).FromString
    write_message = GetMessageClass(method.output_type).SerializeToString
    if method.client_streaming:
        return grpc.stream_stream_rpc_method_handler(function, read_message, write_message)

    async def answer(messages, context):
        try:
            return await function(await _first(messages, read_message, receive_seconds), context)
        except RequestError as error:
            await refuse(context, error)
    return grpc.stream_unary_rpc_method_handler(answer, response_serializer=write_message)


async def _first(messages, read_message, receive_seconds):
    """Raises RequestError."""
    try:
        async with asyncio.timeout(receive_seconds):
            return read_message(await anext(messages))
    except TimeoutError:
        raise RequestError(408, f"the message did not come within {receive_seconds} seconds") from None
    except (DecodeError, StopAsyncIteration):
        raise RequestError(400, f"a message of {SERVICE.full_name} is wanted, other bytes or none came") from None


class Server(GRPCServer):
    """MLServer's, with bounds."""

    def __init__(self, mlserver_settings, data_plane, handlers, repository, settings):
        super().__init__(mlserver_settings, data_plane, handlers)
        self._repository = repository
        self._bounds = settings

    def _create_server(self):
        most = self._bounds.max_request_mib * MIB
        # gRPC core counts a stream until it is freed, also one that was reset: without a bound, streams that are reset at once pile up.
        # What is beyond max_requests is refused; beyond this a client of one connection waits.
        options = [("grpc.max_receive_message_length", most), ("grpc.max_send_message_length", -1), ("grpc.so_reuseport", 0),
                   ("grpc.max_concurrent_streams", 2 * self._bounds.max_requests),
                   ("grpc.server_handshake_timeout_ms", int(self._bounds.receive_seconds * 1000))]
        self._server = grpc.aio.server(options=options, maximum_concurrent_rpcs=self._bounds.max_requests)
        methods = handlers_of(Servicer(self._data_plane, self._model_repository_handlers, self._repository), self._bounds.receive_seconds)
        self._server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(SERVICE.full_name, methods), Absent()))
        host = f"[{self._settings.host}]" if ":" in self._settings.host else self._settings.host
        self._server.add_insecure_port(f"{host}:{self._settings.grpc_port}")
        return self._server

    async def stop(self, sig=None):
        await self._server.stop(grace=self._bounds.drain_seconds)


