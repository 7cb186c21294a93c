"""All endpoints of one host, planned together: detect -> resolve -> fit -> place -> launch -> health -> outputs.

From the host's facts and survey, the requests and the models' manifests, giving one `EndpointPlan` for each name. Endpoints
that were placed before come first and keep what they have while it is valid; then names. Read `plan_host`, then `_plan_one`.
"""
from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

from planning.detect.facts import HostFacts, HostSurvey
from planning.errors import Consent, Notes, Suggestion
from planning.families import family_of
from planning.families.base import Case, Choice, Claims, Family
from planning.handoff import handoff
from planning.holdings import by_others, held_before, own_port, without_own
from planning.launch import files_of, hashed
from planning.place import address_of, name_of, port_of
from planning.plan import EndpointPlan, LaunchSpec, from_document
from planning.request import EndpointRequest, parse_endpoint
from planning.resolve.manifest import ModelManifest, ModelSupport

MOST_SUGGESTIONS = 4


def plan_host(stack: str, facts: HostFacts, survey: HostSurvey, requests: Mapping[str, EndpointRequest], manifests: Mapping[str, ModelManifest],
              previous: Mapping[str, Mapping[str, Any]] = {}, advertise_address: str | None = None, local: bool = False,
              api_keys: Collection[str] = (), owner: str = "", absent: frozenset[str] = frozenset()) -> dict[str, EndpointPlan]:
    """Plans by endpoint name, in the order of `requests`. `previous`: documents of the last plans; `api_keys`: names that have one;
    `owner`: of the state, which tells the containers of two stacks of one name apart; `absent`: paths that the host does not have."""
    before = {name: document for name, document in previous.items() if name in requests and document.get("verdict") == "fits"}
    held = {name: held_before(document) for name, document in before.items()}
    foreign = by_others(stack, owner, requests, facts, survey)
    plans: dict[str, EndpointPlan] = {}
    for name in sorted(requests, key=lambda name: (name not in before, name)):
        others = Claims.total([foreign, *(claims for other, claims in held.items() if other != name)])
        port = own_port(before.get(name), stack, owner, name, survey)
        generation = int(previous.get(name, {}).get("generation") or 0)
        case = Case(stack, requests[name], facts, without_own(stack, owner, name, facts, survey, port), manifests[name], others, before.get(name), name,
                    name in api_keys, local, advertise_address, port, generation, owner, absent)
        plan, claims = plan_endpoint(case)
        plans[name] = _settled(plan, before[name]) if name in before else plan
        held.update({name: claims} if claims is not None else {})
    return {name: plans[name] for name in requests}


def plan_endpoint(case: Case) -> tuple[EndpointPlan, Claims | None]:
    """One endpoint beside what others claim, with suggestions that were tried; and what it will hold (None: refused)."""
    plan, claims = _plan_one(case)
    return (plan if claims is not None else replace(plan, suggestions=_suggestions(case, plan))), claims


def _settled(plan: EndpointPlan, before: Mapping[str, Any]) -> EndpointPlan:
    """The plan as it was, where the same is asked for and would launch the same in the same place: what is said of load or free memory belongs to the day
    on which the endpoint was placed, and must not look like a change."""
    old = from_document(before)
    if plan.memory is None or old.memory is None or plan.placement is None or old.placement is None:
        return plan
    today = replace(plan, warnings=old.warnings, summary=old.summary, memory=replace(plan.memory, available_bytes=old.memory.available_bytes),
                    placement=replace(plan.placement, reason=old.placement.reason))
    return old if today == old else plan


@dataclass(frozen=True)
class _Steps:
    """What the steps of one endpoint gave, refused or not."""

    family: Family
    engine: Any
    recipe: Mapping[str, Any] | None
    support: ModelSupport | None
    choice: Choice | None
    launch: LaunchSpec | None
    notes: Notes


def _plan_one(case: Case) -> tuple[EndpointPlan, Claims | None]:
    steps = _take_steps(case)
    notes, choice, family = _once(steps.notes), steps.choice, steps.family
    ready = not notes.refusals and steps.launch is not None
    rows = family.summary(case, steps.engine, steps.support, choice)
    plan = EndpointPlan(
        name=case.name, family=family.kind, verdict="fits" if ready else "refused", refusals=notes.refusals, consents=notes.consents,
        warnings=notes.warnings, engine=steps.engine, recipe=steps.recipe, memory=choice and choice.memory, placement=choice and choice.placement,
        generation=case.generation, revision=case.manifest.revision, asked=_asked(case.request),
        summary=(*rows, ("Port", str(steps.launch.port))) if steps.launch else rows)
    if not ready:
        return plan, None
    return replace(plan, launch=steps.launch, health=family.health(case, steps.engine, steps.support, choice),
                   handoff=handoff(case, steps.support, steps.launch)), _held(family, choice, steps.launch)


def _asked(request: EndpointRequest) -> str:
    """A plan of another configuration is judged anew, warnings included, also where it launches the same."""
    keys = request.model_dump(mode="json", by_alias=True, exclude_unset=True)
    return hashlib.sha256(json.dumps(keys, sort_keys=True).encode()).hexdigest()[:16]


def _take_steps(case: Case) -> _Steps:
    """Every step is judged, whatever an earlier one refused, as far as there is something to judge."""
    family = family_of(case.request.kind)
    facts = Notes(warnings=case.facts.warnings + case.survey.warnings)
    engine, recipe, gates = family.engine(case)
    support, resolved = _resolve(case, family, engine)
    choice, placed = family.choose(case, engine, support) if engine and support else (None, Notes())
    port, ports = port_of(case, case.own_port)
    address, addresses = address_of(case)
    spec, launched = family.launch(case, engine, support, choice, port, address) if choice else (None, Notes())
    if spec is not None:
        spec = replace(spec, labels={**spec.labels, "amd-vllm.plan": hashed(spec)})
    return _Steps(family, engine, recipe, support, choice, spec, facts + gates + resolved + placed + name_of(case) + files_of(case) + ports
                  + addresses + launched)


def _resolve(case: Case, family: Family, engine: Any) -> tuple[ModelSupport | None, Notes]:
    """The model judged for this engine. Running the repository's code is a consent where the model cannot do without."""
    if engine is None:
        return None, Notes(case.manifest.refusals, (), case.manifest.warnings)
    plain = _judge(case, family, engine, trusted=False)
    wants = next((r for r in plain.refusals if r.code == "needs-consent" and "trustRemoteCode" in r.needed), None)
    support = _judge(case, family, engine, trusted=True) if case.request.trust_remote_code else plain
    consents = (Consent("trustRemoteCode", wants.what, case.request.trust_remote_code),) if wants else ()
    return support, Notes(support.refusals, consents, support.warnings)


def _judge(case: Case, family: Family, engine: Any, trusted: bool) -> ModelSupport:
    from planning.resolve import judge
    request = case.request
    return judge(case.manifest, vllm_version=engine.vllm_version, device=family.device, dtype=request.dtype, quantization=request.quantization,
                 trust_remote_code=trusted, chat_template_given=request.chat_template is not None, backend=engine.backend,
                 gfx=next((gpu.gfx for gpu in case.facts.gpus.devices if gpu.instinct), None))


def _held(family: Family, choice: Choice, launch: LaunchSpec) -> Claims:
    return Claims.total([family.claims(choice), Claims(ports=frozenset({launch.port}))])


def _once(notes: Notes) -> Notes:
    """Each statement once, in the order in which it was made."""
    return Notes(*(tuple(dict.fromkeys(part)) for part in (notes.refusals, notes.consents, notes.warnings)))


def _suggestions(case: Case, plan: EndpointPlan) -> tuple[Suggestion, ...]:
    """The family's candidates, each planned again with the changed request; only those that fit are offered."""
    family, good = family_of(case.request.kind), []
    notes = Notes(plan.refusals, plan.consents, plan.warnings)
    for keys, why in family.suggestions(case, notes):
        changed = _with(case, keys)
        if len(good) < MOST_SUGGESTIONS and changed is not None and all(keys != kept.set for kept in good) and _plan_one(changed)[1] is not None:
            good.append(Suggestion(dict(keys), why))
    return tuple(good)


def _with(case: Case, keys: Mapping[str, Any]) -> Case | None:
    """The case with some configuration keys changed; None when they are not valid together."""
    document = case.request.model_dump(mode="json", by_alias=True, exclude_unset=True)
    request, _ = parse_endpoint(case.name, {**document, **keys})
    return None if request is None else replace(case, request=request)
