# SPDX-License-Identifier: Apache-2.0
"""@tenon.elementwise: an operator by its expression."""

import dis
import inspect

from ._plugin import Plugin


def elementwise(expression, *, name=None, domain="Python", types="T:float", **options):
    """Makes an elementwise operator of an expression (docs/expressions.md) and of a function's signature:

        @tenon.elementwise("low + (high - low) * sigmoid(x)", domain="Mine")
        def SoftClip(x, low=0.0, high=6.0):
            "A smooth clip."

    Parameters without a default are inputs, those with one are fields; the operator has the function's name, and its docstring. What
    the body returns, where it returns something, is the reference in NumPy that check() compares with. `types` are those of all
    inputs and of the output. The result is a tenon.Plugin, fused into its neighbours like the built-in operators."""
    if not isinstance(expression, str):
        raise TypeError("expected the expression: @tenon.elementwise(\"low + (high - low) * sigmoid(x)\")")

    def decorate(function):
        parameters = inspect.signature(function).parameters.values()
        inputs = [each.name for each in parameters if each.default is each.empty]
        fields = {each.name: each.default for each in parameters if each.default is not each.empty}
        variable = types.partition(":")[0]
        ports = {port: types if index == 0 else variable for index, port in enumerate(inputs)}
        output = "result" if "y" in inputs or "y" in fields else "y"
        return Plugin(name or f"{domain}::{function.__name__}", ports, {output: variable}, fields, expression=expression,
                      doc=inspect.cleandoc(function.__doc__ or ""), reference=function if _returns(function) else None, **options)

    return decorate


def _returns(function):
    """Whether the body says what it returns: a docstring alone, pass and ... do not."""
    idle = ("RESUME", "LOAD_CONST", "RETURN_VALUE", "RETURN_CONST", "NOP", "POP_TOP")
    return any(each.opname not in idle for each in dis.get_instructions(function))
