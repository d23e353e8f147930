"""Measurements: the papers' figures, peers on the same questions, and how cost grows with rules, events and windows.

Everything is drawn from seeds, so a run needs no data, and every answer is counted before its time is believed.
"""
