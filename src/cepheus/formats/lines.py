"""Text files in blocks of whole lines, in bounded memory whatever the file holds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

BLOCK_BYTES = 1 << 20
MAX_LINE_BYTES = 16 << 20
"""A longer line is a bad event; it is found and passed over without being held in memory."""

_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class LineBlock:
    """Whole lines of a file: the number of the first, the bytes without the last line end, and their count.

    ``too_long`` marks a single line over the limit, whose bytes are not given.
    """

    first_line: int
    data: bytes
    lines: int
    too_long: bool = False

    def texts(self) -> Iterator[tuple[int, str | None]]:
        """Yield each line's number and text without its end; the text is None where the bytes are not UTF-8."""
        try:
            texts: list[str | None] = list(self.data.decode().split("\n"))
        except UnicodeDecodeError:
            texts = [_decoded(line) for line in self.data.split(b"\n")]
        yield from enumerate(texts, self.first_line)


def line_blocks(file: BinaryIO, max_line: int = MAX_LINE_BYTES, block_bytes: int = BLOCK_BYTES) -> Iterator[LineBlock]:
    r"""Cut a file into blocks of whole lines; a byte order mark at its start is left out.

    >>> import io
    >>> [block.data for block in line_blocks(io.BytesIO(b"a\nb\nc"), block_bytes=4)]
    [b'a\nb', b'c']
    >>> [block.data for block in line_blocks(io.BytesIO(b"a\nb\nc"))]
    [b'a\nb\nc']
    """
    block_bytes = min(block_bytes, max_line)  # then only the first line of a block can be over the limit
    line = 1
    held = bytearray()
    skipping = False
    first = True
    while piece := file.read(block_bytes):
        if len(piece) < block_bytes and not piece.endswith(b"\n"):
            piece += b"\n"  # the last line of the file, which then needs no block of its own
        if first:
            piece, first = piece.removeprefix(_BOM), False
        start = piece.find(b"\n") + 1
        if not start:
            if not skipping:
                held += piece
            if len(held) > max_line:
                held.clear()
                skipping = True
            continue
        if skipping or len(held) + start - 1 > max_line:
            yield LineBlock(line, b"", 1, too_long=True)
            line += 1
            held.clear()
            skipping = False
        else:
            start = 0
        end = piece.rfind(b"\n")
        if end >= start:
            data = bytes(held) + piece[start:end]
            count = data.count(b"\n") + 1
            yield LineBlock(line, data, count)
            line += count
        held = bytearray(piece[end + 1 :])
    if skipping or len(held) > max_line:
        yield LineBlock(line, b"", 1, too_long=True)
    elif held:
        yield LineBlock(line, bytes(held), 1)


def _decoded(line: bytes) -> str | None:
    try:
        return line.decode()
    except UnicodeDecodeError:
        return None
