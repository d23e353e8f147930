"""What the parser's nodes mean: operators, aggregates, functions and types, by their classes."""

from __future__ import annotations

from sqlglot import exp

from cepheus.core.values import ValueType
from cepheus.rules.rows.expressions import Operator

BINARY: dict[type, Operator] = {
    exp.Add: Operator.ADD,
    exp.Sub: Operator.SUBTRACT,
    exp.Mul: Operator.MULTIPLY,
    exp.Div: Operator.DIVIDE,
    exp.Mod: Operator.REMAINDER,
    exp.EQ: Operator.EQUAL,
    exp.NEQ: Operator.UNEQUAL,
    exp.LT: Operator.LESS,
    exp.LTE: Operator.LESS_OR_EQUAL,
    exp.GT: Operator.GREATER,
    exp.GTE: Operator.GREATER_OR_EQUAL,
    exp.And: Operator.AND,
    exp.Or: Operator.OR,
    exp.Like: Operator.LIKE,
    exp.DPipe: Operator.JOIN,
    exp.NullSafeEQ: Operator.SAME,
}
BOOL_OR, BOOL_AND = "bool_or", "bool_and"
"""Aggregates that are written as counts."""
AGGREGATES: dict[type, str] = {
    exp.Count: "count",
    exp.Sum: "sum",
    exp.Avg: "avg",
    exp.Min: "min",
    exp.Max: "max",
    exp.Stddev: "stddev",
    exp.StddevSamp: "stddev",
    exp.Median: "median",
    exp.ArrayAgg: "array_agg",
    exp.ArgMax: "max_by",
    exp.ArgMin: "min_by",
    exp.LogicalOr: BOOL_OR,
    exp.LogicalAnd: BOOL_AND,
}
CALLED_OTHERWISE: dict[type, str] = {
    exp.Ceil: "ceil",
    exp.Pow: "pow",
    exp.Length: "length",
    exp.Lower: "lower",
    exp.Upper: "upper",
    exp.Greatest: "max",
    exp.Least: "min",
}
"""Functions by the other names that SQL has for them: CEILING, POWER, CHAR_LENGTH, LCASE, UCASE, GREATEST, LEAST."""
UNDERSTOOD: dict[type, set[str]] = {
    exp.Div: {"typed", "safe"},
    exp.DPipe: {"safe"},
    exp.Case: {"ifs", "default"},
    exp.If: {"true", "false"},
    exp.Between: {"low", "high"},
    exp.Cast: {"to", "_type"},
    exp.TryCast: {"to", "_type", "safe", "requires_string"},
    exp.Like: {"negate"},
    exp.Interval: {"unit"},
    exp.Column: {"table", "db"},
    exp.Count: {"big_int"},
    exp.Literal: {"is_string"},
    exp.Length: {"encoding"},
}
"""What the parser may say of a part besides its operands; whatever else it says is refused."""
TYPES = {
    exp.DType.BOOLEAN: ValueType.BOOL,
    exp.DType.DOUBLE: ValueType.FLOAT,
    exp.DType.FLOAT: ValueType.FLOAT,
    exp.DType.TINYINT: ValueType.INT,
    exp.DType.SMALLINT: ValueType.INT,
    exp.DType.INT: ValueType.INT,
    exp.DType.BIGINT: ValueType.INT,
    exp.DType.VARCHAR: ValueType.STRING,
    exp.DType.TEXT: ValueType.STRING,
    exp.DType.CHAR: ValueType.STRING,
    exp.DType.TIMESTAMP: ValueType.TIMESTAMP,
    exp.DType.TIMESTAMPTZ: ValueType.TIMESTAMP,
    exp.DType.DATE: ValueType.TIMESTAMP,
}
