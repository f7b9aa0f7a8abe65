# SPDX-License-Identifier: Apache-2.0
"""The times of a network's steps as a table."""

COLUMNS = (("node", str), ("op", str), ("kernel", str), ("runs", str), ("us", "{:.1f}".format), ("share", "{:.1%}".format))


class Profile(list):
    """Dicts in the order of the steps: node, op, kernel, runs, us (the shortest run's microseconds), share (of all steps' us).

    It prints as a table, shows itself as one in a notebook, and to_pandas() is a frame.
    """

    def __init__(self, entries):
        least = [entry["minimum_ns"] for entry in entries]
        total = sum(least) or 1
        super().__init__({"node": entry["node"], "op": entry["op"], "kernel": entry["kernel"], "runs": entry["runs"], "us": ns / 1e3,
                          "share": ns / total} for entry, ns in zip(entries, least))

    def _rows(self):
        return [[write(row[name] if row[name] is not None else "-") for name, write in COLUMNS] for row in self]

    def __repr__(self):
        rows = [[name for name, _ in COLUMNS]] + self._rows()
        widths = [max(map(len, column)) for column in zip(*rows)]
        return "\n".join("  ".join(cell.rjust(width) if i > 2 else cell.ljust(width)
                                   for i, (cell, width) in enumerate(zip(row, widths))).rstrip() for row in rows)

    def _repr_html_(self):
        import html
        head = "".join(f"<th>{name}</th>" for name, _ in COLUMNS)
        body = "".join("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in self._rows())
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"

    def to_pandas(self):
        import pandas
        return pandas.DataFrame(list(self), columns=[name for name, _ in COLUMNS])
