-- Prices that fall and rise again, and two such dips of one symbol, the second one deeper.
SELECT *
FROM Stock MATCH_RECOGNIZE (
  PARTITION BY symbol
  ORDER BY time
  MEASURES STRT.price AS top, LAST(DOWN.price) AS bottom, LAST(UP.price) AS recovered
  PATTERN (STRT DOWN+ UP+)
  WITHIN INTERVAL '1' HOUR
  DEFINE DOWN AS price < PREV(price), UP AS price > PREV(price)
) AS Dip;

SELECT symbol, first_bottom, second_bottom
FROM Dip MATCH_RECOGNIZE (
  PARTITION BY symbol
  ORDER BY time
  MEASURES A.bottom AS first_bottom, B.bottom AS second_bottom
  PATTERN (A B)
  DEFINE B AS bottom < A.bottom
) AS DeeperDip;
