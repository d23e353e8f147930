"""What the loop of threads works on: its arrays by their addresses, each declared once."""

from __future__ import annotations

from enum import IntEnum

from cepheus.kernel.tables import Fields, cell, words_at


class Look(Fields):
    """The context of the loop: numbers, and addresses of arrays of words (those of rows are half words)."""

    NEXT_OF = words_at()
    NEXT_BEGINS = words_at()
    VARIABLE = words_at()
    ACCEPTS = words_at()
    """By state: 1 a match may end here, 2 it may if the partition does, 4 it can only end here."""
    INSTRUCTIONS = words_at()
    CODE_BEGINS = words_at()
    """By variable, and one more for the end of the last."""
    ASKED = words_at()
    KEPT = words_at()
    KEPT_COUNT = cell()
    INITIAL = words_at()
    CONSTANTS = words_at()
    CONSTANTS_NULL = words_at()
    LABELS = words_at()
    VALUES = words_at()
    """By row: the variables whose near conditions hold, as bits; the vectors that are NULL, as bits; the vectors."""
    VALUES_WIDTH = cell()
    PARTITION = cell()
    READY = cell()
    BEFORE = cell()
    AFTER = cell()
    TIME = words_at()
    NOW = words_at()
    PARTS = words_at()
    PARTITIONS = cell()
    POOL = words_at()
    STATE = words_at()
    NODE = words_at()
    NEXT = words_at()
    """Of threads: the one that is less preferred; of free lines the next free one."""
    WORDS = words_at()
    WIDTH = cell()
    THREADS_ROOM = cell()
    PARENT = words_at()
    NODE_STATE = words_at()
    USES = words_at()
    NODES_ROOM = cell()
    MET = words_at()
    """A table of the threads of one step, by hash: the step, and the line."""
    MET_MASK = cell()
    TRIED = words_at()
    """By variable, the thread for which it was tried last, and how that went."""
    ANSWERS = words_at()
    """By place among the threads and variable, whether what was asked holds; of so many threads as are ``ANSWERED``."""
    VARIABLES = cell()
    OPEN_LIMIT = cell()
    SCRATCH = words_at()
    """By variable, the words after it would take the row at hand."""
    STACK = words_at()
    STACK_NULL = words_at()
    MATCHES = words_at()
    MATCHES_ROOM = cell()
    FOUND_ROWS = words_at()
    FOUND_STATES = words_at()
    ROWS_ROOM = cell()
    SKIP = cell()
    SKIP_TO = cell()
    WITHIN = cell()
    TODO = cell()
    TODO_COUNT = cell()
    ENDING = cell()
    UNTIL = cell()
    STEPS_LIMIT = cell()


class Pool(IntEnum):
    """Notes on what is free: lists of lines that were used, and how many lines were ever used."""

    FREE_THREAD = 0
    THREADS = 1
    FREE_NODE = 2
    NODES = 3
    STEP = 4


POOL_WIDTH = len(Pool)
