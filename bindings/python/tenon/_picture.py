# SPDX-License-Identifier: Apache-2.0
"""A plan's picture for notebooks: the page of `tenon inspect --html`."""

import os

from tenon._files import program


def page(plan):
    """The whole page as text. The plan's file is read; a plan without one is written to a file first."""
    import subprocess
    import tempfile
    with tempfile.TemporaryDirectory() as folder:
        path = plan.path
        if path is None:
            path = os.path.join(folder, "network.plan")
            plan.save(path)
        out = os.path.join(folder, "page.html")
        done = subprocess.run([program(), "inspect", path, "--html", out], capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(f"tenon inspect: {done.stderr.strip()}")
        with open(out, encoding="utf-8") as file:
            return file.read()


# The frame begins at the network, which the page has below its tables.
SCROLL = """<script>
for (const heading of document.querySelectorAll("h2"))
    if (heading.textContent.startsWith("Network")) window.scrollTo(0, heading.offsetTop - 8);
</script>"""


def frame(plan):
    """The page in a frame of its own, so that its style stays within."""
    import html
    return ('<iframe style="width: 100%; height: 640px; border: 0" sandbox="allow-scripts" '
            f'srcdoc="{html.escape(page(plan) + SCROLL, quote=True)}"></iframe>')
