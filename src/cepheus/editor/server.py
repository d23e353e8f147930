"""``cepheus lsp``: a language server, which editors start and talk to over its standard input and output.

It only translates: what there is to say of a text stands in the modules beside it, which know nothing of the protocol.
"""

from __future__ import annotations

from typing import Protocol

from lsprotocol import types
from pygls.exceptions import JsonRpcInvalidParams
from pygls.lsp.server import LanguageServer
from pygls.uris import to_fs_path
from pygls.workspace import TextDocument

from cepheus.core.errors import CepheusError, Diagnostic, Severity
from cepheus.core.source import Span
from cepheus.editor.analysis import Analysis, Language, analyse, language_of
from cepheus.editor.colours import Colour, colour_etalis, colour_sql, colour_tesla
from cepheus.editor.completion import complete
from cepheus.editor.navigation import definitions, formatted, meaning_at, renamed, uses
from cepheus.editor.proposals import Completion, Proposal
from cepheus.editor.symbols import SymbolKind

_COLOURS = [colour for colour in Colour if colour is not Colour.PUNCTUATION]
_LEGEND = types.SemanticTokensLegend([colour.value for colour in _COLOURS], [])
_KINDS = {
    Proposal.EVENT_TYPE: types.CompletionItemKind.Class,
    Proposal.EVENT: types.CompletionItemKind.Variable,
    Proposal.ATTRIBUTE: types.CompletionItemKind.Field,
    Proposal.PARAMETER: types.CompletionItemKind.TypeParameter,
    Proposal.FUNCTION: types.CompletionItemKind.Function,
    Proposal.KEYWORD: types.CompletionItemKind.Keyword,
    Proposal.TYPE: types.CompletionItemKind.Struct,
    Proposal.UNIT: types.CompletionItemKind.Unit,
    Proposal.STATEMENT: types.CompletionItemKind.Snippet,
}
_SYMBOLS = {
    SymbolKind.EVENT_TYPE: types.SymbolKind.Class,
    SymbolKind.RULE: types.SymbolKind.Function,
    SymbolKind.RELATION: types.SymbolKind.Interface,
}


_COLOURED = {Language.TESLA: colour_tesla, Language.ETALIS: colour_etalis, Language.SQL: colour_sql}


class AtPosition(Protocol):
    """What all questions about a place in a text have."""

    @property
    def text_document(self) -> types.TextDocumentIdentifier:
        """The text."""

    @property
    def position(self) -> types.Position:
        """The place."""


class RuleServer(LanguageServer):
    """The server with what it knows of the texts that are open."""

    def __init__(self, version: str) -> None:
        super().__init__("cepheus", version)
        self._known: dict[str, tuple[str, Analysis]] = {}

    def document(self, uri: str) -> TextDocument:
        """A text that is open."""
        return self.workspace.get_text_document(uri)

    def analysis(self, uri: str) -> Analysis:
        """What is known of a text as it is now."""
        document = self.document(uri)
        text = document.source
        known = self._known.get(uri)
        if known is None or known[0] != text:
            name = to_fs_path(uri) or uri
            told = {each.value: each for each in Language}.get(document.language_id or "")
            spoken = told or language_of(name, text)
            known = (text, analyse(text, name, spoken))
            self._known[uri] = known
        return known[1]

    def range(self, uri: str, span: Span) -> types.Range:
        """A place as the protocol has it."""
        document = self.document(uri)
        start, end = document.client_position_at_offset(span.start), document.client_position_at_offset(span.end)
        return types.Range(start, end)

    def offset(self, params: AtPosition) -> int:
        """The offset of a place that the editor speaks of."""
        return self.document(params.text_document.uri).offset_at_position(params.position)

    def publish(self, uri: str) -> None:
        """Tell the editor what is wrong with a text."""
        found = [self._diagnostic(uri, finding) for finding in self.analysis(uri).findings]
        version = self.document(uri).version
        self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, found, version))

    def _diagnostic(self, uri: str, finding: Diagnostic) -> types.Diagnostic:
        start = types.Position(0, 0)
        wrong = types.DiagnosticSeverity.Error
        return types.Diagnostic(
            types.Range(start, start) if finding.span is None else self.range(uri, finding.span),
            finding.message if finding.hint is None else f"{finding.message}\nhint: {finding.hint}",
            severity=wrong if finding.severity is Severity.ERROR else types.DiagnosticSeverity.Warning,
            code=finding.code,
            source="cepheus",
        )

    def forget(self, uri: str) -> None:
        """A text is closed: nothing is known or said of it any more."""
        self._known.pop(uri, None)
        self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, []))


def make_server(version: str) -> RuleServer:
    """A server that answers everything it offers."""
    server = RuleServer(version)
    _follow_texts(server)
    _answer_about_names(server)
    _answer_about_texts(server)
    return server


def _follow_texts(server: RuleServer) -> None:
    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    def opened(params: types.DidOpenTextDocumentParams) -> None:
        server.publish(params.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    def changed(params: types.DidChangeTextDocumentParams) -> None:
        server.publish(params.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    def closed(params: types.DidCloseTextDocumentParams) -> None:
        server.forget(params.text_document.uri)


def _answer_about_names(server: RuleServer) -> None:
    @server.feature(types.TEXT_DOCUMENT_COMPLETION, types.CompletionOptions(trigger_characters=[".", "$", "(", ":"]))
    def completion(params: types.CompletionParams) -> types.CompletionList:
        found = complete(server.analysis(params.text_document.uri), server.offset(params))
        return types.CompletionList(is_incomplete=False, items=[_item(each) for each in found])

    @server.feature(types.TEXT_DOCUMENT_HOVER)
    def hover(params: types.HoverParams) -> types.Hover | None:
        uri = params.text_document.uri
        found = meaning_at(server.analysis(uri), server.offset(params))
        if found is None:
            return None
        return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, found.text), server.range(uri, found.span))

    @server.feature(types.TEXT_DOCUMENT_DEFINITION)
    def definition(params: types.DefinitionParams) -> list[types.Location]:
        uri = params.text_document.uri
        analysis = server.analysis(uri)
        named = analysis.at(server.offset(params))
        places = [] if named is None else definitions(analysis, named.symbol)
        return [types.Location(uri, server.range(uri, place)) for place in places]

    @server.feature(types.TEXT_DOCUMENT_REFERENCES)
    def references(params: types.ReferenceParams) -> list[types.Location]:
        uri = params.text_document.uri
        analysis = server.analysis(uri)
        named = analysis.at(server.offset(params))
        found = [] if named is None else uses(analysis, named.symbol)
        wanted = [each for each in found if params.context.include_declaration or not each.defines]
        return [types.Location(uri, server.range(uri, each.span)) for each in wanted]

    @server.feature(types.TEXT_DOCUMENT_PREPARE_RENAME)
    def prepare_rename(params: types.PrepareRenameParams) -> types.Range | None:
        uri = params.text_document.uri
        named = server.analysis(uri).at(server.offset(params))
        return None if named is None else server.range(uri, named.span)

    @server.feature(types.TEXT_DOCUMENT_RENAME, types.RenameOptions(prepare_provider=True))
    def rename(params: types.RenameParams) -> types.WorkspaceEdit:
        uri = params.text_document.uri
        try:
            changes = renamed(server.analysis(uri), server.offset(params), params.new_name)
        except CepheusError as error:
            raise JsonRpcInvalidParams(error.diagnostics[0].message) from None
        return types.WorkspaceEdit({uri: [types.TextEdit(server.range(uri, span), text) for span, text in changes]})


def _answer_about_texts(server: RuleServer) -> None:
    @server.feature(types.TEXT_DOCUMENT_FORMATTING)
    def formatting(params: types.DocumentFormattingParams) -> list[types.TextEdit]:
        uri = params.text_document.uri
        analysis = server.analysis(uri)
        try:
            text = formatted(analysis)
        except CepheusError:
            return []  # its mistakes are shown already
        whole = Span(analysis.source, 0, len(analysis.source.text))
        return [] if text == analysis.source.text else [types.TextEdit(server.range(uri, whole), text)]

    @server.feature(types.TEXT_DOCUMENT_DOCUMENT_SYMBOL)
    def outline(params: types.DocumentSymbolParams) -> list[types.DocumentSymbol]:
        uri = params.text_document.uri
        found = []
        for each in server.analysis(uri).occurrences:
            kind = _SYMBOLS.get(each.symbol.kind)
            if each.defines and kind is not None:
                place = server.range(uri, each.span)
                found.append(types.DocumentSymbol(each.symbol.name, kind, place, place))
        return found

    @server.feature(types.TEXT_DOCUMENT_SEMANTIC_TOKENS_FULL, _LEGEND)
    def colours(params: types.SemanticTokensParams) -> types.SemanticTokens:
        uri = params.text_document.uri
        analysis = server.analysis(uri)
        return types.SemanticTokens(_encoded(server, uri, analysis))


def _item(found: Completion) -> types.CompletionItem:
    snippet = found.snippet is not None
    return types.CompletionItem(
        found.label,
        kind=_KINDS[found.kind],
        detail=found.detail or None,
        documentation=found.meaning or None,
        insert_text=found.snippet,
        insert_text_format=types.InsertTextFormat.Snippet if snippet else None,
    )


def _encoded(server: RuleServer, uri: str, analysis: Analysis) -> list[int]:
    """Colours as the protocol has them: five numbers for each piece, relative to the piece before."""
    if not analysis.occurrences and analysis.language is Language.SQL:
        return []  # SQL of others has colours of its own
    colour = _COLOURED[analysis.language]
    document = server.document(uri)
    data: list[int] = []
    line = character = 0
    for piece in colour(analysis.source.text):
        start, end = document.client_position_at_offset(piece.start), document.client_position_at_offset(piece.end)
        if piece.colour is Colour.PUNCTUATION or start.line != end.line:  # comments over lines keep their plain colour
            continue
        moved = start.character - (character if start.line == line else 0)
        data += [start.line - line, moved, end.character - start.character, _COLOURS.index(piece.colour), 0]
        line, character = start.line, start.character
    return data
