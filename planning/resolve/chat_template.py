"""Whether a model brings a chat template, from the files that may hold one. Decides which endpoint is the primary one.

Places: `chat_template` in tokenizer_config.json (text, or several named ones), chat_template.jinja, chat_template.json
(of a processor), additional_chat_templates/NAME.jinja. vLLM takes the one called `default` and refuses to choose among others.
"""
from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import PurePosixPath
from typing import Any

from planning.resolve.manifest import ChatTemplate

JINJA, PROCESSOR, ADDITIONAL = "chat_template.jinja", "chat_template.json", "additional_chat_templates"
# mistral-common renders chats itself for checkpoints that bring its tokenizer
_MISTRAL_TOKENIZERS = ("tekken.json",)


def find(tokenizer_config: Mapping[str, Any] | None, processor: Mapping[str, Any] | None, paths: Collection[str], *,
         listing_complete: bool) -> ChatTemplate:
    """`tokenizer_config`, `processor`: parsed files, None when not read. `paths`: files that are there, whether read or not.

    absent only when it is known: every file that could hold a template was read or is known not to exist.
    """
    named = {PurePosixPath(p).stem for p in paths if p.startswith(ADDITIONAL + "/") and p.endswith(".jinja")}
    if JINJA in paths:
        named.add("default")
    for source in (tokenizer_config, processor):
        named |= _named(source or {})
    if processor is None and PROCESSOR in paths:
        named.add("default")                       # not read; the file has no other purpose
    if "default" in named:
        return ChatTemplate("present", tuple(sorted(named - {"default"})))
    if named:
        return ChatTemplate("ambiguous", tuple(sorted(named)))
    if any(p in paths for p in _MISTRAL_TOKENIZERS):
        return ChatTemplate("present")
    known = tokenizer_config is not None or (listing_complete and "tokenizer_config.json" not in paths)
    return ChatTemplate("absent" if known else "unknown")


def _named(config: Mapping[str, Any]) -> set[str]:
    value = config.get("chat_template")
    if isinstance(value, str):
        return {"default"} if value.strip() else set()
    if isinstance(value, Mapping):
        return {str(k) for k, v in value.items() if v}
    items = value if isinstance(value, (list, tuple)) else ()
    return {str(i["name"]) for i in items if isinstance(i, Mapping) and i.get("name") and i.get("template")}
