"""`python -m perdure.cli`, the same as `perdure`."""

import sys

from perdure.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
