"""`python -m tests.e2e.bed clean`: remove what killed test sessions left on this machine."""

import sys

from .cleaning import clean_dead

if sys.argv[1:] != ["clean"]:
    sys.exit("usage: python -m tests.e2e.bed clean")
removed = clean_dead()
print("\n".join(f"removed {each}" for each in removed) or "nothing left behind")
