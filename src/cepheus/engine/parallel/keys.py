"""The keys of a batch's events, as columns of words that can be hashed."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from cepheus.core.batch import EventBatch
from cepheus.core.schema import TIME_ATTRIBUTE
from cepheus.core.values import ValueType
from cepheus.engine.lowered.intake import BatchWords, type_in
from cepheus.engine.parallel.route import KeyKind, hash_text
from cepheus.kernel.memory import address
from cepheus.kernel.program import Words


class KeyColumns:
    """For each type of a batch, where its keys are and what they are; ``attributes`` names them by event type."""

    def __init__(self, batch: EventBatch, attributes: Mapping[str, str], words: KeyWords) -> None:
        self.codes = np.ascontiguousarray(batch.codes, np.int32)
        self.columns = np.zeros(max(1, len(batch.types)), np.int64)
        self.kinds = np.zeros_like(self.columns)
        self._keep: list[Words] = []
        for code, name in enumerate(batch.types):
            if name in attributes:
                column, kind = words.of(attributes[name], code)
                self.columns[code], self.kinds[code] = address(column), kind
                self._keep.append(column)


class KeyWords:
    """The columns of a batch as words to be hashed, each made when it is first asked for."""

    def __init__(self, given: BatchWords) -> None:
        self._given = given
        self._hashes: dict[str, Words] = {}

    def of(self, attribute: str, code: int) -> tuple[Words, KeyKind]:
        """Give the values that an attribute has in events of a type, and what they are.

        What stands where an event has no value means nothing: such an event goes anywhere.
        """
        batch = self._given.batch
        if attribute == TIME_ATTRIBUTE:
            return np.ascontiguousarray(batch.times), KeyKind.INTEGER
        value_type = type_in(batch, attribute, code)
        if value_type is None:
            return np.zeros(len(batch), np.int64), KeyKind.INTEGER
        if value_type is ValueType.STRING:
            return self._hashed(attribute), KeyKind.TEXT
        kind = KeyKind.DOUBLE if value_type is ValueType.FLOAT else KeyKind.INTEGER
        return self._given.values(attribute, value_type), kind

    def _hashed(self, attribute: str) -> Words:
        if attribute not in self._hashes:
            column = self._given.texts(attribute)
            hashes = np.array([hash_text(text) for text in column.dictionary.to_pylist()] or [0], np.int64)
            indices = column.indices.fill_null(0) if column.null_count else column.indices
            self._hashes[attribute] = hashes[indices.to_numpy(zero_copy_only=False)]
        return self._hashes[attribute]
