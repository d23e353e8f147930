"""What the languages of rules share: tokens and their mistakes, literals, comments, the base of their builders."""
