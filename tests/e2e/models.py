"""Models for the end-to-end tests: recorded configurations behind the Hub stand-in."""

from __future__ import annotations

import json
from pathlib import Path

from tests.hub_stand_in import HubStandIn

MODELS = Path(__file__).resolve().parents[1] / "models"
TINY = "Qwen/Qwen3-0.6B"
HUGE = "meta-llama/Meta-Llama-3.1-405B"
CHAT = {"kind": "epyc", "host": "box", "model": TINY, "maxModelLen": 4096}
TEMPLATE = {"chat_template": "{{ messages }}"}


def add(hub: HubStandIn, name: str = TINY, chat: bool = True, **settings: object) -> None:
    """A recorded model on the Hub stand-in, with a chat template unless told otherwise."""
    config = json.loads((MODELS / name.replace("/", "__") / "config.json").read_text())
    hub.add(name, {"config.json": config, "tokenizer_config.json": TEMPLATE if chat else {}}, **settings)
