"""Rules over Spark DataFrames: the planner's splits, carried out by Spark."""
