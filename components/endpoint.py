"""`VllmEndpoint`: the steps of one endpoint as visible lines. It declares; every decision is the plan's."""
from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import pulumi
from pulumi.output import contains_unknowns

from components import runtimes
from components.barrier import Barrier
from components.before import Before
from components.host import Host
from components.together import together
from components.waiting import waited
from planning.errors import Refusal
from planning.families import family_of
from planning.plan import from_document
from planning.plan_text import decided
from planning.request import parse_endpoint
from providers import endpoint_bench, proof, record
from providers.endpoint_bench import EndpointBench
from providers.endpoint_health import EndpointHealth
from providers.transport.address import Target

_barrier = Barrier()
GO_BACK = ("{name} did not start to serve; the next `up` tries again. If it served before this change: "
           "put the old configuration back and run `up`, its image is still on the host")


class VllmEndpoint(pulumi.ComponentResource):
    """A served model on one host. `settings`: the endpoint keys of the configuration (camelCase), without kind and host.

    Outputs: `endpoint` (what apps need), `base_url`, `model`, `measured`.
    """

    endpoint: pulumi.Output[dict]
    base_url: pulumi.Output[str]
    model: pulumi.Output[str]
    measured: pulumi.Output[dict]

    def __init__(self, token: str, kind: str, name: str, host: Host, settings: Mapping[str, Any], api_key: pulumi.Input[str] | None = None,
                 opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(token, name, None, opts)
        self._name, self._host, self._api_key = name, host, api_key
        request, problems = parse_endpoint(name, {**settings, "kind": kind, "host": host.name})
        if request is None:
            raise pulumi.RunError("; ".join(problem.text() for problem in problems))
        if not host.late:
            _barrier.join(name)
        self._request, self._model = request, family_of(kind).model_of(request)                    # resolve
        plan = host.plan_for(name, request, self._model, api_key is not None)
        plan.apply(self._unknown, run_with_unknowns=True)
        plan = plan.apply(self._spoken)                                                            # detect, fit, place, launch
        started = plan.apply(self._run)                                                            # run
        if request.mode == "bench":
            ended = together(started, plan).apply(self._ended)                            # health: it ends well
            bench = EndpointBench(name, self._proof_inputs(plan, ended), pulumi.ResourceOptions(parent=self))
            self._hand_over_figures(plan, started, bench)                                          # outputs
        else:
            answering = together(started, plan, api_key).apply(self._answering)           # health
            health = EndpointHealth(name, self._health_inputs(plan, answering), pulumi.ResourceOptions(parent=self))
            self._hand_over(plan, started, health)                                                 # outputs

    def _unknown(self, plan: Any) -> None:
        """Who cannot be judged in this preview (or is left out of it by --target) keeps nobody waiting."""
        if contains_unknowns(plan):
            _barrier.leave(self._name)

    async def _spoken(self, plan: dict[str, Any]) -> dict[str, Any]:
        """Says on this resource what was decided, and waits for the others. Raises when anybody was refused."""
        pulumi.log.info(decided(from_document(plan)), self)
        for warning in plan["warnings"]:
            if warning["message"] not in self._host.said:
                pulumi.log.warn(f"[{warning['code']}] {warning['message']}", self)
        refused = plan["verdict"] == "refused"
        for refusal in plan["refusals"]:
            pulumi.log.error(f"{self._name}: {Refusal(**refusal).text()}", self)
        for suggestion in plan["suggestions"]:
            pulumi.log.info(f"this would fit: {suggestion['set']} ({suggestion['why']})", self)
        if not refused and not pulumi.runtime.is_dry_run() and self._host.connection["address"].startswith("recorded:"):
            refused = True
            pulumi.log.error(f"{self._name}: {self._host.name} is a recorded host, which is for preview only", self)
        if self._host.late and refused:
            await asyncio.sleep(0.1)
            raise pulumi.RunError(f"{self._name} is refused")
        if not self._host.late:
            await _barrier.speak(self._name, refused)
        return plan

    def _after(self) -> list[pulumi.Resource]:
        """What is there before anything of the endpoint runs, and outlives it."""
        return list(self._host.planned)

    def _run(self, plan: dict[str, Any]) -> pulumi.Output[dict]:
        """Declares what runs the engine, which the plan's runtime decides; what was started, with what is in its image."""
        secrets = {"VLLM_API_KEY": pulumi.Output.secret(self._api_key)} if self._api_key is not None else {}
        before = Before(self, self._name, self._host, self._model, self._request, plan)

        async def ready(fetched: Any) -> Any:
            await before.all()
            return fetched

        start = runtimes.run(runtimes.Job(self._name, plan, self._host, secrets, self, ready, self._after()))
        start.stack.apply(lambda stack: self._tell_stack(stack, plan["launch"]["image"]), run_with_unknowns=True)
        start.warnings.apply(self._warn)
        return pulumi.Output.all(container_id=start.container_id, image_digest=start.image_digest)

    def _tell_stack(self, stack: Any, image: str) -> None:
        if pulumi.runtime.is_dry_run() and (not stack or contains_unknowns(stack)):
            pulumi.log.info(f"{self._name}: stack not probed yet: what is really in {image} is read after the pull and before the start", self)
        elif stack and not pulumi.runtime.is_dry_run():
            pulumi.log.info(f"{self._name}: " + ", ".join(f"{key} {value}" for key, value in sorted(stack.items())), self)

    async def _answering(self, found: list[Any]) -> str:
        """Waits, outside any provider, until the engine answers; returns the container's id. Nothing happens in preview."""
        started, plan, api_key = found
        container_id = started["container_id"]
        if not pulumi.runtime.is_dry_run() and record.read(pulumi.get_stack(), "proven", self._name) != container_id:
            target, subject = Target.of(self._host.name, self._host.connection), proof.Subject.of(self._name, plan)
            ours = record.read(pulumi.get_stack(), "started", self._name) == container_id
            await waited(self, self._name, GO_BACK.format(name=self._name), lambda say: proof.wait(target, subject, api_key, say, ours))
            if not ours:    # its proof is in the state already; what we started has still to come to that
                record.write(pulumi.get_stack(), "proven", self._name, container_id)
        return container_id

    async def _ended(self, found: list[Any]) -> str:
        """Waits until what runs once has ended well; returns the container's id."""
        started, plan = found
        container_id = started["container_id"]
        if not pulumi.runtime.is_dry_run() and record.read(pulumi.get_stack(), "proven", self._name) != container_id:
            target, subject = Target.of(self._host.name, self._host.connection), proof.Subject.of(self._name, plan)
            await waited(self, self._name, f"{self._name} did not end well", lambda say: endpoint_bench.wait(target, subject, say))
        return container_id

    def _proof_inputs(self, plan: pulumi.Output[dict], container_id: pulumi.Output[str]) -> dict[str, Any]:
        return {"name": self._name, "stack": pulumi.get_stack(), "connection": self._host.connection, "container_id": container_id,
                "subject": plan.apply(lambda p: asdict(proof.Subject.of(self._name, p)))}

    def _health_inputs(self, plan: pulumi.Output[dict], container_id: pulumi.Output[str]) -> dict[str, Any]:
        return {**self._proof_inputs(plan, container_id),
                "planned": plan.apply(lambda p: {key: p["memory"].get(key) for key in ("kv_cache_tokens", "max_concurrency", "required_bytes")})}

    def _hand_over(self, plan: pulumi.Output[dict], started: pulumi.Output[dict], health: EndpointHealth) -> None:
        self.endpoint = together(plan, health.healthy, health.measured, started).apply(
            lambda found: _endpoint(self._host.name, found[0], found[2], found[3]["image_digest"]))
        together(health.comparison, health.warnings).apply(self._compare)
        self._expose(health.measured)

    def _hand_over_figures(self, plan: pulumi.Output[dict], started: pulumi.Output[dict], bench: EndpointBench) -> None:
        """Nothing answers at a URL when a bench has ended: its figures instead."""
        none = dict.fromkeys(("baseUrl", "curl", "python", "port", "primaryEndpoint"))
        self.endpoint = together(plan, bench.figures, started).apply(
            lambda found: {**_endpoint(self._host.name, found[0], None, found[2]["image_digest"]), **none, "supportedEndpoints": [], "bench": found[1]})
        self._expose(bench.figures)

    def _expose(self, measured: pulumi.Output[dict]) -> None:
        self.base_url = self.endpoint.apply(lambda endpoint: endpoint["baseUrl"])
        self.model = self.endpoint.apply(lambda endpoint: endpoint["model"])
        self.measured = measured
        self.register_outputs({"endpoint": self.endpoint})

    def _compare(self, found: list[Any]) -> None:
        comparison, warnings = found
        if comparison and not pulumi.runtime.is_dry_run():
            pulumi.log.info(f"{self._name}: {comparison}", self)
        self._warn(warnings)

    def _warn(self, warnings: list[Mapping[str, Any]] | None) -> None:
        for warning in warnings or ():
            pulumi.log.warn(f"[{warning['code']}] {warning['message']}", self)


def _endpoint(host: str, plan: Mapping[str, Any], measured: Mapping[str, Any] | None, digest: str | None) -> dict[str, Any]:
    handoff, launch, memory = plan["handoff"], plan["launch"], plan["memory"]
    return {"baseUrl": handoff["base_url"], "model": handoff["model"], "modelId": handoff.get("model_id"), "apiKey": handoff.get("api_key"),
            "gpus": dict(plan["summary"]).get("GPUs"), "tensorParallelSize": plan["placement"].get("tensor_parallel_size"),
            "primaryEndpoint": handoff.get("primary_endpoint"), "supportedEndpoints": handoff["supported_endpoints"], "host": host,
            "port": launch["port"], "runtime": launch["runtime"],
            "image": launch["image"], "imageDigest": digest or None, "maxModelLen": memory.get("max_model_len"), "kvCacheTokens": memory.get("kv_cache_tokens"),
            "placement": plan["placement"], "curl": handoff["curl"], "python": handoff["python"], "stop": handoff["stop"], "measured": measured}
