"""What all dynamic providers here share: named fields decide a diff, checked inputs are what is stored, starting reads early.

`check` puts what it found into the inputs, which the engine shows as known values in preview. `__provider` never counts.
"""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from pulumi.dynamic import CheckResult, ConfigureRequest, CreateResult, DiffResult, ReadResult, ResourceProvider, UpdateResult
from pulumi.output import Unknown
from pulumi.runtime.rpc import UNKNOWN

from providers import run
from providers.packed import unpacked


class StepProvider(ResourceProvider):
    """`compared`: fields whose change is an update; `replaced`: fields whose change makes a new resource; `packed`: fields that
    hold one text (`providers.packed`)."""

    serialize_as_secret_always = False
    compared: ClassVar[tuple[str, ...]] = ()
    replaced: ClassVar[tuple[str, ...]] = ()
    packed: ClassVar[tuple[str, ...]] = ()

    def configure(self, req: ConfigureRequest) -> None:
        run.start(req.config)

    def diff(self, _id: str, olds: dict[str, Any], news: dict[str, Any]) -> DiffResult:
        def differs(name: str) -> bool:
            old, new = olds.get(name), news.get(name)
            return unpacked(old) != unpacked(new) if name in self.packed else old != new

        replaced = [name for name in self.replaced if differs(name)]
        return DiffResult(changes=bool(replaced) or any(map(differs, self.compared)), replaces=replaced)

    def create(self, props: dict[str, Any]) -> CreateResult:
        return CreateResult(self.name_of(props), dict(props))

    def update(self, _id: str, _olds: dict[str, Any], news: dict[str, Any]) -> UpdateResult:
        return UpdateResult(dict(news))

    def name_of(self, props: Mapping[str, Any]) -> str:
        """The resource's id."""
        return str(props["name"])


def unknown(*values: Any) -> bool:
    """Whether something in the values is not known yet (an output of a resource that does not exist)."""
    return any(isinstance(value, Unknown) or value == UNKNOWN or isinstance(value, Mapping) and unknown(*value.values())
               or isinstance(value, (list, tuple)) and unknown(*value) for value in values)


def checked(news: Mapping[str, Any], **found: Any) -> CheckResult:
    return CheckResult({**news, **found}, [])


def refreshed(id_: str, props: Mapping[str, Any], **found: Any) -> ReadResult:
    """Outputs and inputs together, so that the next preview compares with what is really there."""
    fresh = {**props, **found}
    return ReadResult(id_, fresh, {key: value for key, value in fresh.items() if key != "__provider"})
