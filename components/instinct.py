"""`InstinctVllmEndpoint`: vLLM on AMD Instinct GPUs (ROCm)."""
from __future__ import annotations

from typing import Any

import pulumi
from pydantic.alias_generators import to_camel

from components.endpoint import VllmEndpoint
from components.host import Host


class InstinctVllmEndpoint(VllmEndpoint):
    """One endpoint of kind `instinct`. Settings are the keys of docs/configuration.md in snake case (`max_model_len=4096`)."""

    def __init__(self, name: str, host: Host, *, api_key: pulumi.Input[str] | None = None, opts: pulumi.ResourceOptions | None = None,
                 **settings: Any) -> None:
        keys = {to_camel(key): value for key, value in settings.items()}
        super().__init__("amd-vllm:index:InstinctVllmEndpoint", "instinct", name, host, keys, api_key, opts)

    def _after(self) -> list[pulumi.Resource]:
        return [*super()._after(), *([self._host.numa_balancing_off()] if self._request.fix_numa_balancing else [])]
