"""``python -m cepheus``: the command line, where no ``cepheus`` is on the path."""

from cepheus.cli import main

if __name__ == "__main__":
    main()
