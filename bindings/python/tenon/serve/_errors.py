# SPDX-License-Identifier: Apache-2.0
"""What a request is refused with: a status of HTTP and its name in gRPC."""

GRPC_NAMES = {400: "INVALID_ARGUMENT", 404: "NOT_FOUND", 408: "DEADLINE_EXCEEDED", 413: "RESOURCE_EXHAUSTED", 415: "INVALID_ARGUMENT",
              429: "RESOURCE_EXHAUSTED", 500: "INTERNAL", 501: "UNIMPLEMENTED", 503: "UNAVAILABLE", 504: "DEADLINE_EXCEEDED"}
# Of a run: the caller's fault; all else is the server's.
OF_THE_REQUEST = ("TN_ERROR_ARGUMENT", "TN_ERROR_TYPE", "TN_ERROR_SHAPE", "TN_ERROR_NOT_FOUND")


class RequestError(Exception):
    """A request that gets no result: `status` of HTTP, `grpc` its name in gRPC, str(error) what was wanted."""

    def __init__(self, status, text):
        super().__init__(text)
        self.status = status
        self.grpc = GRPC_NAMES[status]

    def __reduce__(self):
        return RequestError, (self.status, str(self))


def of_run(error):
    """The RequestError of a tenon.Error that a run raised."""
    code = getattr(error, "code", None)
    return RequestError(400 if code in OF_THE_REQUEST else 500, str(error))
