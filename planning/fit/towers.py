"""Vision and audio towers (stub)."""
from __future__ import annotations

from planning.fit.config_view import View


def tower_params(root: View, text: View, tp: int) -> int:
    return 0
