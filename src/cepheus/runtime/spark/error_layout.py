"""How the errors of uncertain attributes travel from Spark to an engine: as texts, or as columns of parameters.

A text is the second field of a struct column, ``{value: 24.5, error: "N(0, 1)"}``. Columns of parameters are those that
the user has told of, as in ``uncertain={"value": Normal(sd="value_sd")}``. An error in the value itself goes first.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cepheus.core.batch import ColumnKey
from cepheus.core.distribution import Distribution, parse_distribution
from cepheus.core.distribution_column import ErrorColumn
from cepheus.core.error_columns import NO_PARAMETERS, ErrorSource, Floats, Parameter
from cepheus.core.errors import EventError

Rows = TypeVar("Rows", pa.RecordBatch, pa.Table)


@dataclass(frozen=True, slots=True, repr=False)
class ErrorLayout:
    """The columns of errors: attributes that have texts, and attributes whose errors have columns.

    ``skip_bad`` says that events with a text that is no distribution are left out, which Spark itself cannot tell.
    """

    texts: tuple[str, ...] = ()
    error_columns: tuple[tuple[str, ErrorSource], ...] = ()
    skip_bad: bool = False

    def __repr__(self) -> str:
        """The text that checkpoints know it by, which must stay as it is; bad events may be skipped or not."""
        return f"ErrorLayout(texts={self.texts!r}, error_columns={self.error_columns!r})"

    @property
    def parameters(self) -> tuple[str, ...]:
        """The columns of parameters, by the names that the user knows."""
        return tuple(dict.fromkeys(name for _, source in self.error_columns for name in source.columns))

    def text_column(self, attribute: str) -> str:
        """The name in Spark of the texts of an attribute."""
        return f"t{self.texts.index(attribute)}"

    def parameter_column(self, name: str) -> str:
        """The name in Spark of a column of parameters."""
        return f"c{self.parameters.index(name)}"

    @property
    def columns(self) -> tuple[str, ...]:
        """The names in Spark of all columns."""
        return (*map(self.text_column, self.texts), *map(self.parameter_column, self.parameters))

    def sound(self, rows: Rows) -> Rows:
        """Leave out the rows that have a bad text, if that is asked for."""
        if not self.skip_bad:
            return rows
        for name in self.texts:
            texts = rows.column(self.text_column(name))
            bad = [text for text in texts.unique().to_pylist() if isinstance(_read(text), EventError)]
            if bad:
                rows = rows.filter(pc.invert(pc.is_in(texts, pa.array(bad, pa.string()))))
        return rows

    def errors(self, rows: pa.RecordBatch, attributes: Mapping[ColumnKey, pa.Array]) -> dict[str, ErrorColumn]:
        """Read the errors of attributes; EventError if one is none. A value that is undefined has no error."""
        found = {name: _parsed(name, rows.column(self.text_column(name))) for name in self.texts}
        for name, source in self.error_columns:
            column, faults = source.errors(lambda parameter: self._read(parameter, rows))
            if faults:
                raise _bad_error(name, next(iter(faults.values())))
            found[name] = found[name].or_else(column) if name in found else column
        return {name: column.where(_present(name, attributes)) for name, column in found.items() if column.any}

    def _read(self, parameter: Parameter, rows: pa.RecordBatch) -> Floats:
        if not isinstance(parameter, str):
            return np.full(rows.num_rows, float(parameter))
        column = rows.column(self.parameter_column(parameter))
        return np.asarray(column.fill_null(NO_PARAMETERS).to_numpy(zero_copy_only=False), np.float64)


NO_ERRORS = ErrorLayout()


def _parsed(attribute: str, texts: pa.Array) -> ErrorColumn:
    """Read errors; each text is read once."""
    coded = texts.dictionary_encode()
    distributions: list[Distribution | None] = [None]
    for text in coded.dictionary.to_pylist():
        read = _read(text)
        if isinstance(read, EventError):
            raise _bad_error(attribute, read)
        distributions.append(read)
    return ErrorColumn.of(distributions).take(coded.indices.fill_null(-1).to_numpy().astype(np.int64) + 1)


@lru_cache(maxsize=4096)
def _read(text: str | None) -> Distribution | EventError | None:
    """Read a text, or tell what is wrong with it."""
    try:
        return None if text is None else parse_distribution(text)
    except EventError as error:
        return error


def _bad_error(attribute: str, error: EventError) -> EventError:
    (finding,) = error.diagnostics
    skip = "leave out such events: on_bad_event='skip'"
    return EventError.of(
        finding.code,
        f"the error of an attribute '{attribute}': {finding.message}",
        hint=skip if finding.hint is None else f"{finding.hint}; or {skip}",
    )


def _present(name: str, attributes: Mapping[ColumnKey, pa.Array]) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    valid = [
        array.is_valid().to_numpy(zero_copy_only=False)
        for (attribute, kind), array in attributes.items()
        if attribute == name and kind.is_numeric
    ]
    found: np.ndarray[tuple[int], np.dtype[np.bool_]] = np.logical_or.reduce(valid)
    return found


def probabilities(column: pa.Array) -> np.ndarray[tuple[int], np.dtype[np.float64]] | None:
    """The probabilities of events, None if all are certain; an event without one is."""
    found: np.ndarray[tuple[int], np.dtype[np.float64]] = column.fill_null(1.0).to_numpy(zero_copy_only=False)
    if (found == 1.0).all():
        return None
    if not ((found >= 0.0) & (found <= 1.0)).all():
        raise EventError.of(
            "probability",
            "the probability of an event is not between 0 and 1",
            hint="leave out such events: on_bad_event='skip'",
        )
    return found
