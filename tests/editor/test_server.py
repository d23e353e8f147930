from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pygls", reason="the extra 'editor' is not installed")

from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pygls.lsp.client import LanguageClient

RULES = """event Temp(area: string, größe: double)
define Fire(a: string)
from Temp(area='😀' and größe>45)
where a=Temp.area
"""


class Editor:
    """An editor that starts the server as users' editors do, and keeps what it is told."""

    def __init__(self) -> None:
        self.client: Any = LanguageClient("test", "1")
        self.told: asyncio.Queue[types.PublishDiagnosticsParams] = asyncio.Queue()

        def told(params: types.PublishDiagnosticsParams) -> None:
            self.told.put_nowait(params)

        self.client.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)(told)

    async def open(self, uri: str, text: str, language: str = "tesla") -> types.PublishDiagnosticsParams:
        document = types.TextDocumentItem(uri, language, 1, text)
        self.client.text_document_did_open(types.DidOpenTextDocumentParams(document))
        return await self.told.get()

    async def change(self, uri: str, version: int, text: str) -> types.PublishDiagnosticsParams:
        document = types.VersionedTextDocumentIdentifier(version, uri)
        changes = [types.TextDocumentContentChangeWholeDocument(text)]
        self.client.text_document_did_change(types.DidChangeTextDocumentParams(document, changes))
        return await self.told.get()


def _with_editor(work: Callable[[Editor], Awaitable[None]]) -> None:
    async def run() -> None:
        editor = Editor()
        await editor.client.start_io(sys.executable, "-m", "cepheus", "lsp")
        await editor.client.initialize_async(types.InitializeParams(types.ClientCapabilities()))
        editor.client.initialized(types.InitializedParams())
        await work(editor)
        await editor.client.shutdown_async(None)
        editor.client.exit(None)
        await editor.client.stop()

    asyncio.run(run())


def test_a_session_of_an_editor(tmp_path: Path) -> None:
    uri = (tmp_path / "fire.tesla").as_uri()
    this = types.TextDocumentIdentifier(uri)

    def at(text: str, what: str) -> types.Position:
        before = text[: text.index(what)]
        column = before.rpartition("\n")[2]
        return types.Position(before.count("\n"), len(column.encode("utf-16-le")) // 2)

    async def work(editor: Editor) -> None:
        client = editor.client
        assert not (await editor.open(uri, RULES)).diagnostics
        broken = await editor.change(uri, 2, RULES.replace("größe>45", "grösse>45"))
        (mistake,) = broken.diagnostics
        assert mistake.code == "unknown-attribute"
        assert "größe" in mistake.message
        assert mistake.range.start == at(RULES, "größe>45")  # an emoji counts as two units before it
        assert not (await editor.change(uri, 3, RULES)).diagnostics

        hover = await client.text_document_hover_async(types.HoverParams(this, at(RULES, "größe>")))
        assert "Temp.größe: double" in hover.contents.value
        places = await client.text_document_definition_async(types.DefinitionParams(this, at(RULES, "Temp.area")))
        assert [place.range.start.line for place in places] == [0]
        items = await client.text_document_completion_async(types.CompletionParams(this, at(RULES, "area\n")))
        assert {"area", "größe"} <= {item.label for item in items.items}
        edit = await client.text_document_rename_async(types.RenameParams(this, at(RULES, "Temp.area"), "Heat"))
        assert [change.new_text for change in edit.changes[uri]] == ["Heat"] * 3
        with pytest.raises(JsonRpcException, match="no name here"):
            await client.text_document_rename_async(types.RenameParams(this, at(RULES, "where"), "x"))
        options = types.FormattingOptions(4, insert_spaces=True)
        (layout,) = await client.text_document_formatting_async(types.DocumentFormattingParams(this, options))
        assert layout.new_text.startswith("event Temp(area: string, größe: double)\n\ndefine")
        outline = await client.text_document_document_symbol_async(types.DocumentSymbolParams(this))
        assert [symbol.name for symbol in outline] == ["Temp", "Fire"]
        colours = await client.text_document_semantic_tokens_full_async(types.SemanticTokensParams(this))
        assert len(colours.data) % 5 == 0
        assert list(colours.data[:5]) == [0, 0, 5, 0, 0]  # `event`, a keyword

    _with_editor(work)


def test_rules_of_etalis_and_texts_without_a_name() -> None:
    async def work(editor: Editor) -> None:
        wrong = await editor.open("untitled:1", "pair(X) <- a(X) b(X).", "etalis")
        assert [finding.code for finding in wrong.diagnostics] == ["syntax"]
        assert wrong.diagnostics[0].range.start == types.Position(0, 16)
        document = types.TextDocumentIdentifier("untitled:1")
        editor.client.text_document_did_close(types.DidCloseTextDocumentParams(document))
        assert not (await editor.told.get()).diagnostics

    _with_editor(work)


QUERY = """SELECT * FROM Stock MATCH_RECOGNIZE (
  ORDER BY time MEASURES LAST(DOWN.price) AS low
  PATTERN (STRT DOWN+) DEFINE DOWN AS price < PREV(price)
) AS Fall
"""


def test_queries_over_rows_and_sql_of_others() -> None:
    uri = "file:///queries/fall.sql"
    this = types.TextDocumentIdentifier(uri)

    async def work(editor: Editor) -> None:
        client = editor.client
        assert not (await editor.open(uri, QUERY, "sql")).diagnostics
        mistake, *_ = (await editor.change(uri, 2, QUERY.replace("DOWN+", "DWN+"))).diagnostics
        assert "there is no variable 'DOWN'" in mistake.message
        assert not (await editor.change(uri, 3, QUERY)).diagnostics
        down = types.Position(2, QUERY.splitlines()[2].index("DOWN"))
        hover = await client.text_document_hover_async(types.HoverParams(this, down))
        assert "DEFINE DOWN AS price < PREV(price)" in hover.contents.value
        (place,) = await client.text_document_definition_async(types.DefinitionParams(this, down))
        assert place.range.start == types.Position(2, QUERY.splitlines()[2].index("DOWN AS"))
        edit = await client.text_document_rename_async(types.RenameParams(this, down, "falling"))
        assert [change.new_text for change in edit.changes[uri]] == ["FALLING"] * 3
        options = types.FormattingOptions(4, insert_spaces=True)
        assert not await client.text_document_formatting_async(types.DocumentFormattingParams(this, options))
        outline = await client.text_document_document_symbol_async(types.DocumentSymbolParams(this))
        assert [symbol.name for symbol in outline] == ["Fall"]
        colours = await client.text_document_semantic_tokens_full_async(types.SemanticTokensParams(this))
        assert colours.data

        other = "file:///queries/report.sql"
        assert not (await editor.open(other, "SELECT 1 FROM x;", "sql")).diagnostics
        params = types.SemanticTokensParams(types.TextDocumentIdentifier(other))
        assert not (await client.text_document_semantic_tokens_full_async(params)).data

    _with_editor(work)
