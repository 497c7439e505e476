"""``python -m sparkc`` does what the ``sparkc`` command does."""

from sparkc.cli.main import main

if __name__ == "__main__":
    main()
