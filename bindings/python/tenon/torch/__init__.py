# SPDX-License-Identifier: Apache-2.0
"""tenon.torch: networks and layers between PyTorch and Tenon. convert() makes a torch module that runs on Tenon of another one;
converter() says how an operator of PyTorch becomes nodes; register() makes a Tenon layer an operator of PyTorch; backend() is
torch.compile's, by the name "tenon". PyTorch 2.6 or later is needed."""

from tenon.torch._backend import backend
from tenon.torch._convert import MissingConverters, convert
from tenon.torch._module import Module
from tenon.torch._register import register
from tenon.torch._table import converter, converters

__all__ = ["MissingConverters", "Module", "backend", "convert", "converter", "converters", "register"]
