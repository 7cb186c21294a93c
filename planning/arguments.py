"""What a user adds by hand (`extraArgs`, `env`), checked against what the plan sets: a conflict is refused, never a silent last word.

From the words themselves and the options the family sets, giving notes. The engine would take the last of two equal
options, and the plan would describe something else than what runs.
"""
from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping

from planning.catalog import load_toml
from planning.errors import Notes, Refusal, Warn

OPTION = re.compile(r"-{1,2}[A-Za-z]")


def options(words: Iterable[str]) -> dict[str, str | None]:
    """Options in an argument list, normalised as vLLM does (`_` is `-`, short names are long), each with its value if it has one."""
    short, found, last = load_toml("arguments.toml")["short"], {}, None
    for word in words:
        if OPTION.match(word):
            name, equals, value = word.partition("=")
            last = short.get(name, name.replace("_", "-") if name.startswith("--") else name)
            last = "--" + last[5:] if last.startswith("--no-") else last
            found[last] = value if equals else None
        elif last is not None and found[last] is None:
            found[last] = word
    return found


def spelled(words: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Every value in an argument list, with the option that it follows ('' before the first)."""
    option = ""
    for word in words:
        if OPTION.match(word):
            option, equals, word = word.partition("=")
            if not equals:
                continue
        yield option, word


def check_extra(name: str, words: tuple[str, ...], taken: Collection[str], without: Collection[str] = ()) -> Notes:
    """Notes on `extraArgs` of the endpoint `name`; `taken` are the options that the plan sets itself, `without` the keys that its family
    does not have: their options stand for themselves."""
    if not words:
        return Notes()
    table = load_toml("arguments.toml")
    table = {**table, "keys": {option: key for option, key in table["keys"].items() if key not in without}}
    if not OPTION.match(words[0]):
        return Notes.of(_bad(name, words[0], "an option that begins with --", "put options first; the model is the key `model`"))
    found = options(words)
    return Notes.of(*(_judge(name, option, value, taken, table) for option, value in found.items()),
                    *(_bad(name, option, f"{option} together with {partner}", f"add {partner}, or leave {option} out")
                      for option, partner in table["together"].items() if option in found and partner not in found and partner not in taken))


def _judge(name: str, option: str, value: str | None, taken: Collection[str], table: Mapping) -> Refusal | None:
    base = _whole(option.partition(".")[0], table)
    if base in table["keys"]:
        return _bad(name, option, f"the key {table['keys'][base]}", f"remove it from extraArgs and set {table['keys'][base]}, which the plan is fitted for")
    if base in table["refused"]:
        return _bad(name, option, f"no {option}: {table['refused'][base]}", "remove it from extraArgs")
    if base in table["one"] and value != "1":
        return _bad(name, f"{option} {value or ''}".strip(), f"{option} 1: other layouts are not planned", f"use {table['one'][base]}")
    return _bad(name, option, "an option that the plan does not set", "remove it from extraArgs") if option in taken else None


def _whole(option: str, table: Mapping) -> str:
    """An abbreviation of an option that the plan sets stands for it."""
    if option in table["own_name"]:
        return option
    known = [*table["keys"], *table["refused"], *table["one"]]
    return option if option in known else next((name for name in known if len(option) > 4 and name.startswith(option)), option)


def _bad(name: str, found: str, needed: str, do: str) -> Refusal:
    return Refusal("bad-value", f"endpoint {name}: extraArgs", found, needed, do)


def check_env(name: str, env: Mapping[str, str], refused: Mapping[str, str], taken: Mapping[str, str]) -> Notes:
    """Notes on `env`: `refused` names -> reason, `taken` what the plan sets; unknown names are a warning."""
    table = load_toml("arguments.toml")["environment"]
    notes = []
    for variable in env:
        if variable in refused:
            notes.append(_bad_env(name, variable, f"no {variable}: {refused[variable]}", "remove it from env"))
        elif variable in taken and env[variable] != taken[variable]:
            notes.append(_bad_env(name, f"{variable}={env[variable]}", f"{variable}={taken[variable]}, which the plan sets", "remove it from env"))
        elif variable not in table["names"] and not variable.startswith(tuple(table["prefixes"])):
            notes.append(Warn("unknown-variable", f"endpoint {name}: env: {variable} is a variable that vLLM and its libraries are not known to read"))
    return Notes.of(*notes)


def _bad_env(name: str, found: str, needed: str, do: str) -> Refusal:
    return Refusal("bad-value", f"endpoint {name}: env", found, needed, do)
