# SPDX-License-Identifier: Apache-2.0
"""A family of networks: a table of definitions, each with the opsets and dialects that it is written in, and the extents that it is run with."""

import zlib

from net import Net

IMAGES = ({"batch": 1, "height": 64, "width": 64}, {"batch": 2, "height": 48, "width": 72})
TEXTS = ({"batch": 1, "length": 7}, {"batch": 2, "length": 12}, {"batch": 3, "length": 1})
ROWS = ({"batch": 1}, {"batch": 7})
FIXED = ({},)


class Network:
    def __init__(self, name, define, opset, dialect, extents, quick, loose):
        self.name, self.define, self.opset, self.dialect = name, define, opset, dialect
        self.extents, self.quick = extents, quick
        self.loose = loose  # of what rounds to 8 bits or 16: the share of the largest element that a result may differ by

    def make(self):
        net = Net(self.name, self.opset, self.dialect, seed=zlib.crc32(self.name.encode()))
        self.define(net)
        return net


class Family(dict):
    """`@family.add(extents, (17, "script"), ...)` above a function of a Net adds it in these variants."""

    def add(self, extents, *variants, quick=False, loose=None, **parameters):
        def take(define):
            for number, (opset, dialect) in enumerate(variants or ((17, "script"),)):
                name = f"{define.__name__}_{opset}_{dialect}"
                self[name] = Network(name, define, opset, dialect, extents, quick and number == 0, loose)
            return define
        return take

    def each(self, extents, *variants, quick=(), **definitions):
        """Definitions that are a function and its arguments."""
        for name, (function, *arguments) in definitions.items():
            def define(net, function=function, arguments=arguments):
                function(net, *arguments)
            define.__name__ = name
            self.add(extents, *variants, quick=name in quick)(define)
