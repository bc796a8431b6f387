"""``python -m nard`` is the command ``nard``."""

import sys

from nard.command import main

if __name__ == "__main__":
    sys.exit(main())
