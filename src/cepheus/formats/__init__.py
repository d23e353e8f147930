"""Events in files and tables: reading, writing and checking them."""

from cepheus.formats.conform import conform
from cepheus.formats.convert import from_arrow, from_dicts, from_pandas, schema_of, to_arrow, to_pandas
from cepheus.formats.intake import Chunk, IntakeOptions
from cepheus.formats.problems import BadEvents
from cepheus.formats.read import EventFile, Format, format_of, open_files, read_files
from cepheus.formats.table import flatten
from cepheus.formats.write import EventWriter

__all__ = [
    "BadEvents",
    "Chunk",
    "EventFile",
    "EventWriter",
    "Format",
    "IntakeOptions",
    "conform",
    "flatten",
    "format_of",
    "from_arrow",
    "from_dicts",
    "from_pandas",
    "open_files",
    "read_files",
    "schema_of",
    "to_arrow",
    "to_pandas",
]
