"""Rules and a network that tests of the studio share."""

QUERY = """
SELECT * FROM Price MATCH_RECOGNIZE (
  PARTITION BY symbol ORDER BY time MEASURES A.price AS top
  ONE ROW PER MATCH PATTERN (A B+) DEFINE B AS B.price < PREV(B.price)
) AS Dip
"""
SCENARIO = """
rules = "define C(n: int) from A(n=$x) and last B(n=$x) within 5 s from A where n = A.n"
duration = "5 s"
warm_up = "1 s"
[network]
links = [["p1", "p2", "5 ms"], ["p2", "p3", "5 ms"]]
[[source]]
processor = "p1"
types = ["A"]
rate = 10.0
attributes = { n = [1, 2] }
[[source]]
processor = "p3"
types = ["B"]
rate = 10.0
attributes = { n = [1, 2] }
[[sink]]
processor = "p2"
subscribes = ["C"]
"""
