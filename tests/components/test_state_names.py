"""Names that are users' state: type tokens, provider module paths. Change one only with an alias (and say so in the CHANGELOG)."""
from __future__ import annotations

import base64
import inspect
import pickletools
from pathlib import Path

import pytest
from pulumi.dynamic.dynamic import serialize_provider

from components import KINDS, EpycVllmEndpoint, Host, InstinctVllmEndpoint
from providers.endpoint_bench import EndpointBench, EndpointBenchProvider
from providers.endpoint_health import EndpointHealth, EndpointHealthProvider
from providers.endpoint_process import EndpointProcess, EndpointProcessProvider
from providers.endpoint_start import EndpointStart, EndpointStartProvider
from providers.host_plan import HostPlan, HostPlanProvider
from providers.host_probe import HostProbe, HostProbeProvider
from providers.model_manifest import ModelManifest, ModelManifestProvider

PINNED = {
    HostProbe: ("dynamic/amd-vllm:HostProbe", HostProbeProvider, "providers.host_probe"),
    ModelManifest: ("dynamic/amd-vllm:ModelManifest", ModelManifestProvider, "providers.model_manifest"),
    HostPlan: ("dynamic/amd-vllm:HostPlan", HostPlanProvider, "providers.host_plan"),
    EndpointStart: ("dynamic/amd-vllm:EndpointStart", EndpointStartProvider, "providers.endpoint_start"),
    EndpointProcess: ("dynamic/amd-vllm:EndpointProcess", EndpointProcessProvider, "providers.endpoint_process"),
    EndpointBench: ("dynamic/amd-vllm:EndpointBench", EndpointBenchProvider, "providers.endpoint_bench"),
    EndpointHealth: ("dynamic/amd-vllm:EndpointHealth", EndpointHealthProvider, "providers.endpoint_health"),
}


@pytest.mark.parametrize("resource", PINNED, ids=lambda resource: resource.__name__)
def test_a_provider_is_pickled_by_reference_and_the_same_from_run_to_run(resource):
    token, provider, module = PINNED[resource]
    assert resource._resource_type_name == token
    first, second = serialize_provider(provider()), serialize_provider(provider())
    assert first == second
    texts = [argument for _, argument, _ in pickletools.genops(base64.b64decode(first)) if isinstance(argument, str)]
    assert module in texts and provider.__name__ in texts
    assert len(base64.b64decode(first)) < 200, "by reference: no code in the state"


def test_components_keep_their_tokens():
    assert {kind: component.__name__ for kind, component in KINDS.items()} == {"epyc": "EpycVllmEndpoint", "instinct": "InstinctVllmEndpoint"}
    for component in (Host, EpycVllmEndpoint, InstinctVllmEndpoint):
        assert f'"amd-vllm:index:{component.__name__}"' in Path(inspect.getfile(component)).read_text(encoding="utf-8")

