"""Make doctest examples of docstrings into code blocks, so that the API reference shows them as code."""

from __future__ import annotations

import griffe


class FenceExamples(griffe.Extension):
    """Puts a fence around each run of lines from a ``>>>`` to the next empty line."""

    def on_object(self, *, obj: griffe.Object, **_: object) -> None:
        """Rewrite the docstring of one object."""
        if obj.docstring is not None:
            obj.docstring.value = fenced(obj.docstring.value)


def fenced(text: str) -> str:
    """Fence the examples of a docstring.

    >>> fenced("Add.\\n\\n>>> 1 + 1\\n2")
    'Add.\\n\\n```pycon\\n>>> 1 + 1\\n2\\n```'
    """
    lines: list[str] = []
    inside = False
    for line in text.splitlines():
        if not inside and line.startswith(">>>"):
            lines.append("```pycon")
            inside = True
        elif inside and not line.strip():
            lines.append("```")
            inside = False
        lines.append(line)
    return "\n".join([*lines, "```"] if inside else lines)
