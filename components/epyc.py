"""`EpycVllmEndpoint`: vLLM on AMD EPYC CPUs (zentorch or stock vLLM)."""
from __future__ import annotations

from typing import Any

import pulumi
from pydantic.alias_generators import to_camel

from components.endpoint import VllmEndpoint
from components.host import Host


class EpycVllmEndpoint(VllmEndpoint):
    """One endpoint of kind `epyc`. Settings are the keys of docs/configuration.md in snake case (`max_model_len=4096`)."""

    def __init__(self, name: str, host: Host, *, api_key: pulumi.Input[str] | None = None, opts: pulumi.ResourceOptions | None = None,
                 **settings: Any) -> None:
        keys = {to_camel(key): value for key, value in settings.items()}
        super().__init__("amd-vllm:index:EpycVllmEndpoint", "epyc", name, host, keys, api_key, opts)
