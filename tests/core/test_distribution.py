import pytest
from hypothesis import given
from hypothesis import strategies as st

from cepheus.core.distribution import Discrete, Mixture, Normal, Uniform, parse_distribution
from cepheus.core.errors import EventError


@pytest.mark.parametrize(
    ("text", "distribution"),
    [
        ("N(0,1)", Normal(0, 1)),
        (" u( -1 , 1e2 ) ", Uniform(-1, 100)),
        ("D(0: 0.5, 1: .5)", Discrete(((0, 0.5), (1, 0.5)))),
        ("M(0.9: N(0, 1), 0.1: M(1: U(0, 1)))", Mixture(((0.9, Normal(0, 1)), (0.1, Mixture(((1, Uniform(0, 1)),)))))),
    ],
)
def test_notation(text: str, distribution: Normal) -> None:
    assert parse_distribution(text) == distribution
    assert parse_distribution(str(distribution)) == distribution


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", "'' is not a distribution"),
        ("N(0)", "is not a distribution"),
        ("N(0, 1) x", "is not a distribution"),
        ("N(0, nan)", "is not a distribution"),
        ("N(0, 1e999)", "is not a distribution"),
        ("Q(0, 1)", "is not a distribution"),
        ("N(0, -1)", r"N\(0, -1\) has a negative variance"),
        ("U(1, 0)", r"U\(1, 0\) has its lower bound above its upper bound"),
        ("D(0: 0.5, 1: 0.6)", "the probabilities of a discrete error sum to 1.1, not to 1"),
        ("D(0: -1, 1: 2)", "the probabilities of a discrete error must not be negative"),
        ("M(0.5: N(0, 1))", "the weights of a mixture sum to 0.5, not to 1"),
        ("M(1:" * 50, "is not a distribution"),
    ],
)
def test_what_is_not_a_distribution(text: str, found: str) -> None:
    with pytest.raises(EventError, match=found):
        parse_distribution(text)


@given(st.floats(allow_nan=False, allow_infinity=False), st.floats(0, allow_nan=False, allow_infinity=False))
def test_numbers_keep_every_digit(mean: float, variance: float) -> None:
    assert parse_distribution(str(Normal(mean, variance))) == Normal(mean, variance)
