"""HTTP answers: those of the real vLLM 0.25.1 (shortened) and the lies that an engine can tell."""
from __future__ import annotations

from typing import Any

import pytest

from planning.health import judge_generation, judge_models

CHAT, TEXT = "/v1/chat/completions", "/v1/completions"
NOT_FOUND = {"error": {"message": "The model `nope` does not exist.", "type": "NotFoundError", "param": "model", "code": 404}}
NO_TEMPLATE = {"error": {"message": "As of transformers v4.44, default chat template is no longer allowed, so you must provide one", "code": 400}}


def chat(content: Any = None, **more: Any) -> dict[str, Any]:
    message = {"role": "assistant", "content": content, "reasoning": None, **more}
    return {"choices": [{"index": 0, "message": message, "finish_reason": "length"}], "error": None}


def text(value: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "text": value}]}


@pytest.mark.parametrize(("status", "body", "code"), [
    (200, {"object": "list", "data": [{"id": "tiny"}, {"id": "other"}]}, None),
    (200, '{"data": [{"id": "tiny"}]}', None),
    (200, b'{"data": [{"id": "tiny"}]}', None),
    (200, {"data": [{"id": "other"}]}, "wrong-model"), (200, {"data": []}, "wrong-model"),
    (200, {"error": {"message": "boom"}}, "error-answer"), (200, "<html>", "unexpected-answer"), (200, {"ok": True}, "not-vllm"),
    (401, {"error": "Unauthorized"}, "api-key"), (404, {"detail": "Not Found"}, "not-vllm"),
    (503, None, "loading"), (0, None, "hung"), (302, "", "unexpected-answer"),
])
def test_models(status: int, body: Any, code: str | None) -> None:
    refusal = judge_models(status, body, "tiny")
    assert (refusal.code if refusal else None) == code


@pytest.mark.parametrize(("status", "body", "path", "code"), [
    (200, chat("b\nb\nb\nb\n"), CHAT, None),
    (200, text("hihihihi"), TEXT, None), (200, text("&&&&"), TEXT, None),
    (200, chat(None, reasoning_content="Let me think"), CHAT, None), (200, chat(None, reasoning="Let me"), CHAT, None),
    (200, chat(None, tool_calls=[{"id": "1", "function": {"name": "f"}}]), CHAT, None),
    (200, chat([{"type": "text", "text": "hello"}]), CHAT, None),
    (200, chat("", tool_calls=[]), CHAT, "empty-answer"), (200, chat(" \n"), CHAT, "empty-answer"), (200, text(""), TEXT, "empty-answer"),
    (200, {"choices": []}, CHAT, "empty-answer"), (200, {}, CHAT, "empty-answer"), (200, {"choices": None}, CHAT, "empty-answer"),
    (200, text("\ufffd\ufffd"), TEXT, "garbage-answer"), (200, text("\x00\x01"), TEXT, "garbage-answer"), (200, text("!" * 16), TEXT, "garbage-answer"),
    (200, text("Hello!"), TEXT, None),
    (200, {"error": {"message": "engine is dead"}}, CHAT, "error-answer"), (200, {"object": "error", "message": "x"}, CHAT, "error-answer"),
    (200, "not json", CHAT, "unexpected-answer"), (200, {"choices": [{"finish_reason": "error", "text": "x"}]}, TEXT, "error-answer"),
    (404, {"detail": "Not Found"}, CHAT, "not-generative"), (404, NOT_FOUND, CHAT, "wrong-model"), (400, NO_TEMPLATE, CHAT, "no-chat-template"),
    (400, {"error": {"message": "This model's maximum context length is 8 tokens."}}, TEXT, "context-too-long"),
    (400, {"error": {"message": "no"}}, TEXT, "bad-request"),
    (401, {"error": "Unauthorized"}, CHAT, "api-key"), (503, "", CHAT, "loading"), (500, {"error": {"message": "EngineCore"}}, CHAT, "engine-failed"),
    (429, "", CHAT, "busy"), (None, None, CHAT, "hung"),
])
def test_generation(status: int | None, body: Any, path: str, code: str | None) -> None:
    refusal = judge_generation(status, body, path)
    assert (refusal.code if refusal else None) == code


def test_found_is_masked_and_names_what_is_served() -> None:
    refusal = judge_models(200, {"data": [{"id": "hf_abcdefghijklmnop"}, {"id": "other"}]}, "tiny")
    assert refusal is not None and "hf_***" in refusal.found and "other" in refusal.found and "tiny" in refusal.needed
