# SPDX-License-Identifier: Apache-2.0
"""The type stubs say what the package has: the same names, methods and parameters; and everything public has a docstring."""

import ast
import inspect
import os
import unittest

import tenon
import tenon.debug


class Stubs(unittest.TestCase):
    module = tenon

    @classmethod
    def setUpClass(cls):
        with open(os.path.join(os.path.dirname(cls.module.__file__), "__init__.pyi"), encoding="utf-8") as file:
            cls.tree = ast.parse(file.read())
        cls.tops = {node.name: node for node in cls.tree.body if isinstance(node, (ast.ClassDef, ast.FunctionDef))}

    def parameters(self, node):
        arguments = node.args
        return [argument.arg for argument in arguments.posonlyargs + arguments.args + arguments.kwonlyargs if argument.arg != "self"]

    def test_every_public_name_is_there(self):
        self.assertLessEqual(set(self.module.__all__), set(self.tops))

    def test_methods_and_parameters_are_the_same(self):
        for name in self.module.__all__:
            real, node = getattr(self.module, name), self.tops[name]
            if isinstance(node, ast.FunctionDef):
                self.assertEqual(self.parameters(node), self.own(real), name)
                continue
            for method in node.body:
                if isinstance(method, (ast.FunctionDef, ast.AsyncFunctionDef)) and name != "Error":
                    with self.subTest(name=name, method=method.name):
                        self.assertTrue(hasattr(real, method.name))
                        if not method.name.startswith("_") and not method.decorator_list:
                            self.assertEqual(self.parameters(method), self.own(getattr(real, method.name)))

    def own(self, function):
        return [parameter.name for parameter in inspect.signature(function).parameters.values()
                if parameter.name != "self" and parameter.kind not in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL)]

    def test_what_is_public_has_words(self):
        for name in self.module.__all__:
            real = getattr(self.module, name)
            self.assertTrue(real.__doc__, name)
            for attribute, value in vars(real).items() if inspect.isclass(real) else ():
                if not attribute.startswith("_") and callable(value) and name != "Port":
                    self.assertTrue(value.__doc__, f"{name}.{attribute}")


class DebugStubs(Stubs):
    module = tenon.debug


if __name__ == "__main__":
    unittest.main()
