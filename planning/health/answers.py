"""HTTP answers of the server, judged: does it serve the model, does it generate. Texts: data/health-causes.toml, [[answer]].

/health is not enough: it says 200 while the engine hangs (seen with vLLM 0.25.1), so the proof is a generation.
`status` 0 (or None) stands for no answer at all: refused, cut or timed out. `body` is parsed JSON, or its text.
"""
from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from typing import Any

from planning.catalog import load_toml
from planning.errors import Refusal
from planning.health.log_causes import shown

_NOT_JSON = object()
_SHOWN_IDS = 5
_BROKEN = 8                              # as many "!" and nothing else: the sign of NaN in the logits


def judge_models(status: int | None, body: Any, model: str) -> Refusal | None:
    """GET /v1/models: None when `model` is in the list."""
    answer = _parsed(body)
    if status != 200:
        return _refusal("not-vllm", _said(status, answer)) if status == 404 else _failed_status(status, answer, "/v1/models", model)
    if answer is _NOT_JSON:
        return _refusal("not-json", _said(status, body))
    if _error(answer) is not None:
        return _refusal("error-body", _said(status, answer))
    data = answer.get("data") if isinstance(answer, Mapping) else None
    if not isinstance(data, list):
        return _refusal("not-vllm", _said(status, answer))
    ids = [str(item["id"]) for item in data if isinstance(item, Mapping) and "id" in item]
    if model in ids:
        return None
    more = f" and {len(ids) - _SHOWN_IDS} more" if len(ids) > _SHOWN_IDS else ""
    return _refusal("wrong-model", "it serves " + shown(", ".join(ids[:_SHOWN_IDS]) or "no model") + more, model=model)


def judge_generation(status: int | None, body: Any, path: str) -> Refusal | None:
    """POST to `path` (…/chat/completions or …/completions): None when choices[0] holds real text."""
    answer = _parsed(body)
    if status != 200:
        return _failed_status(status, answer, path, "the model")
    if answer is _NOT_JSON:
        return _refusal("not-json", _said(status, body))
    if _error(answer) is not None:
        return _refusal("error-body", _said(status, answer))
    choices = answer.get("choices") if isinstance(answer, Mapping) else None
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], Mapping):
        return _refusal("no-choices", _said(status, answer))
    choice = choices[0]
    if choice.get("finish_reason") == "error":
        return _refusal("error-body", _said(status, choice))
    text, calls = _text(choice)
    if calls:
        return None
    if not text.strip():
        return _refusal("empty-text", _said(status, choice))
    visible = [c for c in text if c.isprintable() and not c.isspace() and c != "\ufffd"]
    if not visible or (set(visible) == {"!"} and len(visible) >= _BROKEN):
        return _refusal("garbage", shown(repr(text[:80])))
    return None


def _failed_status(status: int | None, answer: Any, path: str, model: str) -> Refusal:
    said, message = _said(status, answer), _message(answer).lower()
    if not status:
        return _refusal("no-answer", "no answer from " + path)
    if status in (401, 403):
        return _refusal("unauthorized", said)
    if status == 404:
        return _refusal("wrong-model", said, model=model) if "does not exist" in message else _refusal("no-route", said, path=path)
    if status in (400, 422):
        key = "no-chat-template" if "chat template" in message else "prompt-too-long" if "context length" in message else "refused"
        return _refusal(key, said)
    if status == 503:
        return _refusal("loading", said)
    if status == 429:
        return _refusal("busy", said)
    return _refusal("engine-error" if status in (500, 502, 504) else "unexpected-status", said)


def _text(choice: Mapping[str, Any]) -> tuple[str, bool]:
    """All text of a choice, reasoning included, and whether it calls a tool."""
    message = choice.get("message")
    if not isinstance(message, Mapping):
        text = choice.get("text")
        return (text if isinstance(text, str) else ""), False
    content = message.get("content")
    if isinstance(content, list):
        content = " ".join(str(part.get("text", "")) for part in content if isinstance(part, Mapping))
    parts = [content, message.get("reasoning_content"), message.get("reasoning")]
    calls = message.get("tool_calls")
    return " ".join(part for part in parts if isinstance(part, str)), isinstance(calls, list) and bool(calls)


def _error(answer: Any) -> Any:
    """The error of a body: {"error": …} or {"object": "error", …}; None if it carries none."""
    if not isinstance(answer, Mapping):
        return None
    return answer if answer.get("object") == "error" else answer.get("error")


def _message(answer: Any) -> str:
    error = _error(answer)
    if isinstance(error, Mapping):
        error = error.get("message")
    if error is None and isinstance(answer, Mapping):
        error = answer.get("message") or answer.get("detail")
    return error[:2000] if isinstance(error, str) else ""


def _said(status: int | None, answer: Any) -> str:
    """Status and the server's words, short and masked."""
    words = _message(answer)
    if not words and answer is not _NOT_JSON and answer not in (None, ""):
        words = answer if isinstance(answer, str) else repr(answer)
    return shown(f"status {status}: {words[:400]}" if words else f"status {status}")


def _parsed(body: Any) -> Any:
    if isinstance(body, (bytes, bytearray)):
        body = bytes(body).decode("utf-8", "replace")
    if not isinstance(body, str):
        return _NOT_JSON if body is None else body
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return _NOT_JSON


@cache
def _texts() -> dict[str, Mapping[str, str]]:
    return {entry["key"]: entry for entry in load_toml("health-causes.toml")["answer"]}


def _refusal(key: str, found: str, **values: str) -> Refusal:
    entry = _texts()[key]
    what, needed = entry["what"], entry["needed"]
    for name, value in values.items():
        what, needed = what.replace("{" + name + "}", shown(value)), needed.replace("{" + name + "}", shown(value))
    return Refusal(entry["code"], what, found, needed, entry["do"])
