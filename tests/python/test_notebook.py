# SPDX-License-Identifier: Apache-2.0
"""The notebook in examples/python, run cell by cell, and what it shows."""

import html
import os
import re
import unittest

import notebook

ROOT = os.environ.get("TENON_SOURCE", os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
PATH = os.path.join(ROOT, "examples", "python", "first_network.ipynb")


class Notebook(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cells = [cell for cell in notebook.run(PATH) if cell.kind == "code"]

    def shown(self, code):
        found = [cell for cell in self.cells if code in cell.text]
        self.assertEqual(len(found), 1, code)
        return found[0]

    def test_digits_are_recognised_and_the_saved_plan_agrees(self):
        self.assertEqual(self.shown("argmax").value.tolist(), list(range(10)))
        self.assertTrue(self.shown("net.save").value)

    def test_profile_is_a_table_with_a_row_a_step(self):
        cell = self.shown("net.profile")
        self.assertEqual(cell.html.count("<tr>"), 1 + len(cell.value))
        self.assertGreater(len(cell.value), 3)
        self.assertEqual({row["runs"] for row in cell.value if row["kernel"]}, {20})

    def test_network_is_its_plans_picture(self):
        cell = [cell for cell in self.cells if cell.text == "net"][0]
        self.assertRegex(cell.html, r'^<iframe [^>]*sandbox="allow-scripts" srcdoc="')
        inside = html.unescape(re.search(r'srcdoc="([^"]*)"', cell.html)[1])
        self.assertIn("<svg", inside)
        steps = [step["node"] for step in self.shown("net.profile").value if step["kernel"]]
        self.assertTrue(steps)
        for step in steps:
            self.assertIn(html.escape(step), inside)

    def test_nothing_that_ran_is_kept_in_the_file(self):
        """Outputs have times and a machine's kernels: they are made anew where the notebook is opened."""
        import json
        with open(PATH, encoding="utf-8") as file:
            cells = json.load(file)["cells"]
        self.assertEqual([cell for cell in cells if cell.get("outputs") or cell.get("execution_count")], [])


if __name__ == "__main__":
    unittest.main()
