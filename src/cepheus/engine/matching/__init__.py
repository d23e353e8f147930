"""The matching engine: rules over remembered events that come in any order, as processors of a network need them."""
