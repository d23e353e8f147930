"""``cepheus lsp``: the language server that editors start."""

from __future__ import annotations

from cepheus import __version__
from cepheus.core.extras import require


def lsp() -> None:
    """Serve an editor over standard input and output: mistakes as you type, completion, meanings, renaming, layout.

    Editors start it by themselves; see the page on editors.
    """
    require("pygls", "a language server")
    from cepheus.editor.server import make_server

    make_server(__version__).start_io()
