"""The docker plugin that is built here takes what the Python package sends: same inputs, same nested types, same required ones.

Only for a Pulumi that setup built; with an official one the plugin is Pulumi's own.
"""

from __future__ import annotations

import inspect
import json
import os
import re
import shutil
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pulumi_docker
import pytest

from tests.e2e.bed.pulumi_run import base_environment

CHECKOUT = Path(__file__).resolve().parents[2]
sys.path.append(str(CHECKOUT / "tools"))
from setup_steps.toolchain import DOCKER_VERSION  # noqa: E402 (tools/ is no package)


@pytest.fixture(scope="module")
def schema(tmp_path_factory) -> dict:
    environment = base_environment(CHECKOUT, tmp_path_factory.mktemp("toolchain"))
    pulumi = Path(shutil.which("pulumi", path=environment["PATH"]))
    plugin = pulumi.parent.parent / "plugin" / "pulumi-resource-docker"
    if not plugin.exists():
        pytest.skip("an installed Pulumi is used here: its docker plugin is the official one")
    os.makedirs(environment["PULUMI_BACKEND_URL"].removeprefix("file://"))
    said = subprocess.run([pulumi, "package", "get-schema", plugin], capture_output=True, text=True, check=True, env=environment, timeout=60)
    return json.loads(said.stdout)


def _plain(name: str) -> str:
    """camelCase and snake_case as one: the Python package names its arguments in snake case."""
    return name.replace("_", "").lower()


def _arguments(cls: type) -> dict[str, bool]:
    """Argument -> is it required? of an Args class of the Python package."""
    parameters = [each for each in inspect.signature(cls.__init__).parameters.values() if each.name not in ("self", "__self__")]
    return {_plain(each.name): each.default is inspect.Parameter.empty for each in parameters}


def _inputs(properties: dict, required: list[str]) -> dict[str, bool]:
    return {_plain(name): name in required for name in properties}


@pytest.mark.parametrize(("token", "name"), [
    ("docker:index/container:Container", "Container"), ("docker:index/remoteImage:RemoteImage", "RemoteImage"),
    ("docker:index/network:Network", "Network"), ("docker:index/volume:Volume", "Volume"),
    ("docker:index/registryImage:RegistryImage", "RegistryImage"), ("docker:index/plugin:Plugin", "Plugin")])
def test_inputs_are_those_of_the_python_package(schema, token, name):
    resource = schema["resources"][token]
    assert _inputs(resource["inputProperties"], resource.get("requiredInputs", [])) == _arguments(getattr(pulumi_docker, f"{name}Args"))


def test_nested_inputs_of_a_container_are_those_of_the_python_package(schema):
    properties = schema["resources"]["docker:index/container:Container"]["inputProperties"]
    tokens = set(re.findall(r"#/types/(docker:index/\w+:\w+)", json.dumps(properties)))
    assert len(tokens) >= 10
    for token in tokens:
        kind = schema["types"][token]
        cls = getattr(pulumi_docker, token.rsplit(":", 1)[1] + "Args")
        assert _inputs(kind["properties"], kind.get("required", [])) == _arguments(cls), token


def test_inputs_of_the_provider_are_those_of_the_python_package(schema):
    assert _inputs(schema["provider"]["inputProperties"], []) == _arguments(pulumi_docker.ProviderArgs)


def test_the_package_is_of_the_version_that_the_plugin_is_installed_as():
    assert version("pulumi-docker") == DOCKER_VERSION


def test_a_second_setup_finds_everything_done():
    said = subprocess.run([sys.executable, CHECKOUT / "tools" / "setup"], capture_output=True, text=True, check=True, timeout=60)
    assert len(said.stderr.splitlines()) == 1 and "ready: pulumi" in said.stderr
    assert (CHECKOUT / ".passphrase").stat().st_mode & 0o777 == 0o600
    printed = subprocess.run([sys.executable, CHECKOUT / "tools" / "setup", "--print-env"], capture_output=True, text=True, check=True, timeout=60)
    assert printed.stdout == (CHECKOUT / ".amd-vllm" / "env.sh").read_text()
