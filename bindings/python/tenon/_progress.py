# SPDX-License-Identifier: Apache-2.0
"""How far a build is: a bar, or the caller's function."""

import contextlib
import sys


class Line:
    """A line of a terminal, where tqdm is not installed; nothing where there is no terminal."""

    def __init__(self):
        self.is_shown = sys.stderr.isatty()

    def __call__(self, stage, done, count):
        if self.is_shown:
            sys.stderr.write(f"\r\033[K{stage} {done}/{count}" if done < count else "\r\033[K")
            sys.stderr.flush()

    def close(self):
        self("", 0, 0)


class Bar:
    """tqdm's bar, one a stage; in a notebook its widget."""

    def __init__(self, tqdm):
        self.tqdm, self.bar, self.stage = tqdm, None, None

    def __call__(self, stage, done, count):
        if stage != self.stage or self.bar is None or self.bar.total != count:
            self.close()
            self.bar, self.stage = self.tqdm(total=count, desc=stage, leave=False), stage
        self.bar.n = done
        self.bar.refresh()

    def close(self):
        if self.bar is not None:
            self.bar.close()
        self.bar = None


@contextlib.contextmanager
def reporting(progress):
    """What the extension calls: None, the caller's function, or a bar that goes when the work is done."""
    if progress is not True:
        yield progress or None
        return
    try:
        from tqdm.auto import tqdm
        bar = Bar(tqdm)
    except ImportError:
        bar = Line()
    try:
        yield bar
    finally:
        bar.close()
