"""The laboratory: the papers' experiments, Cepheus beside others, and reports on them.

It stands beside the package and is not installed with it; ``cepheus bench`` finds it in a clone.
"""
