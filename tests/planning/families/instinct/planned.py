"""Plans for the tests: one endpoint on a synthetic host, with a recorded model of tests/models or a small made-up one."""
from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from planning.detect.facts import HostFacts, HostSurvey
from planning.families.base import Case, Claims
from planning.pipeline import plan_endpoint, plan_host
from planning.plan import EndpointPlan
from planning.request import parse_endpoint
from planning.resolve import load_model_dir
from planning.resolve.manifest import ChatTemplate, ModelManifest
from tests.planning.families.instinct import machines

MODELS = Path(__file__).resolve().parents[3] / "models"


@cache
def manifest(model: str) -> ModelManifest:
    """The recorded model, or a manifest that knows nothing."""
    folder = MODELS / model.replace("/", "__")
    return load_model_dir(folder) if folder.is_dir() else ModelManifest(id=model)


def llama(layers: int = 32, hidden: int = 4096, heads: int = 32, kv_heads: int = 8, context: int = 131072, **changes: Any) -> dict[str, Any]:
    """A Llama config of any size."""
    return {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "num_hidden_layers": layers, "hidden_size": hidden, "head_dim": 128,
            "num_attention_heads": heads, "num_key_value_heads": kv_heads, "intermediate_size": 4 * hidden, "vocab_size": 128256,
            "max_position_embeddings": context, "torch_dtype": "bfloat16", "tie_word_embeddings": False, **changes}


def made_up(weights_gib: float, model: str = "org/model", config: dict[str, Any] | None = None, **changes: Any) -> ModelManifest:
    """A model of exactly so many bytes."""
    size = int(weights_gib * machines.GIB)
    return ModelManifest(id=model, revision="a" * 40, config=config or llama(), weights_bytes=size, chat_template=ChatTemplate("present"),
                         tensors={"total_bytes": size, "dtypes": {"BF16": size // 2}, "source": "headers"}, **changes)


def request(model: str, **keys: Any):
    """A valid request of the kind instinct."""
    parsed, problems = parse_endpoint("chat", {"kind": "instinct", "host": "gpu-01", "model": model, **keys})
    assert parsed is not None, problems
    return parsed


def plan(model: str | ModelManifest, facts: HostFacts | None = None, survey: HostSurvey | None = None, claims: Claims | None = None,
         **keys: Any) -> EndpointPlan:
    """The plan of the endpoint `chat` of the stack `test`."""
    known = manifest(model) if isinstance(model, str) else model
    facts = facts or machines.host()
    case = Case("test", request(known.id, **keys), facts, survey or machines.survey(facts), known, claims or Claims(), name="chat")
    return plan_endpoint(case)[0]


def plan_all(requests: dict[str, Any], facts: HostFacts, manifests: dict[str, ModelManifest], previous: dict[str, Any] | None = None,
             survey: HostSurvey | None = None) -> dict[str, EndpointPlan]:
    """Several endpoints of one host."""
    return plan_host("test", facts, survey or machines.survey(facts), requests, manifests, previous or {})


def flags(found: EndpointPlan) -> dict[str, Any]:
    """The command line of a plan, as data."""
    from planning.families.instinct.flags import parse
    assert found.launch is not None, found.refusals
    return parse(found.launch.command[1:])


def codes(found: EndpointPlan) -> list[str]:
    return [refusal.code for refusal in found.refusals]


def warnings(found: EndpointPlan) -> list[str]:
    return [warning.code for warning in found.warnings]
