"""What an app needs to use an endpoint: base URL, model name, and commands that work as they stand.

From the launch, the model's endpoints and the address under which readers reach the host. No key is ever written out:
with an API key the commands read it from the variable VLLM_API_KEY.
"""
from __future__ import annotations

import json
import shlex
from typing import Any

from planning.addresses import bracketed, host_and_port, ip
from planning.families.base import Case
from planning.plan import Handoff, LaunchSpec
from planning.resolve.manifest import ModelSupport


def served_name(case: Case) -> str:
    """The model's name in the API."""
    return case.request.served_model_name or case.request.model or case.manifest.id


def base_url(address: str, port: int) -> str:
    """`http://address:port/v1`, brackets around IPv6; a port that the address has of its own is the one that readers use."""
    host, own = host_and_port(address) or (address, None)
    return f"http://{bracketed(host)}:{own or port}/v1"


def handoff(case: Case, support: ModelSupport, launch: LaunchSpec) -> Handoff:
    """The URL has `advertiseAddress`, else the address the server binds to (any address: where SSH arrived)."""
    url = base_url(case.advertise_address or _reached(case, launch.bind_address), launch.port)
    model, chat = served_name(case), support.primary_endpoint == "chat_completions"
    return Handoff(url, model, support.primary_endpoint, tuple(support.supported_endpoints), _curl(url, model, chat, case.has_api_key),
                   _python(url, model, chat, case.has_api_key), stop_command(launch), case.manifest.id, "set" if case.has_api_key else "none")


def _reached(case: Case, bound: str) -> str:
    found = ip(bound)
    if found is None or not found.is_unspecified:
        return bound
    return case.facts.ssh_address or ("127.0.0.1" if found.version == 4 else "::1")


def prompt(model: str, chat: bool, max_tokens: int, temperature: float) -> tuple[str, dict[str, Any]]:
    """Path below /v1 and body of one small request."""
    if chat:
        body = {"model": model, "messages": [{"role": "user", "content": "Hello"}], "max_tokens": max_tokens, "temperature": temperature}
        return "/chat/completions", body
    return "/completions", {"model": model, "prompt": "Hello, world", "max_tokens": max_tokens, "temperature": temperature}


def _curl(url: str, model: str, chat: bool, key: bool) -> str:
    path, body = prompt(model, chat, 128, 0.7)
    header = ' -H "Authorization: Bearer $VLLM_API_KEY"' if key else ""
    return f"curl -s {shlex.quote(url + path)} -H 'Content-Type: application/json'{header} -d {shlex.quote(json.dumps(body))}"


def _python(url: str, model: str, chat: bool, key: bool) -> str:
    secret = 'os.environ["VLLM_API_KEY"]' if key else '"EMPTY"'
    call = ('chat.completions.create(model=model, messages=[{"role": "user", "content": "Hello"}], max_tokens=128, temperature=0.7)\n'
            "print(answer.choices[0].message.content)" if chat else
            'completions.create(model=model, prompt="Hello, world", max_tokens=128, temperature=0.7)\nprint(answer.choices[0].text)')
    return (f"{'import os' + chr(10) if key else ''}from openai import OpenAI\n"
            f"client = OpenAI(base_url={json.dumps(url)}, api_key={secret})\nmodel = {json.dumps(model)}\nanswer = client.{call}\n")


def stop_command(launch: LaunchSpec) -> str:
    """Run on the host; `pulumi destroy` does the same and forgets the endpoint too."""
    name = shlex.quote(launch.container_name)
    return f"sh ~/.local/state/amd-vllm/{name}/stop.sh" if launch.runtime == "host" else f"{launch.runtime} rm -f {name}"
