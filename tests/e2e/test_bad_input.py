"""What a user or a host can get wrong: a clear error in preview, exit status not 0, no traceback, and nothing was made."""

from __future__ import annotations

import pytest

from tests.e2e import models
from tests.e2e.models import CHAT


def refused(project, host, *told: str, connection=None, endpoint=None, seconds: float = 60):
    """Preview fails and says each of `told`; no traceback, no container, nothing in the state."""
    project.configure({"box": connection or host.connection()}, {"chat": {**CHAT, **(endpoint or {})}})
    seen = project.preview().failed()
    for text in told:
        assert text in seen.text, seen.report()
    assert "Traceback" not in seen.text
    if host and host.engine and host.engine.answers():
        assert not host.engine.docker("ps", "-aq").stdout.strip()
    assert not project.resources()
    return seen


def test_a_dead_host_is_told_within_15_seconds(project, hub, genoa):
    models.add(hub)
    genoa.cut_network()
    refused(project, genoa, "[host-unreachable] box", "within 10 s", "Do this:")


def test_a_host_without_sshd(project, hub, genoa):
    models.add(hub)
    genoa.ssh.stop()
    refused(project, genoa, "[host-unreachable] box", "nobody listens at the ssh port")


def test_a_refused_key(project, hub, genoa):
    models.add(hub)
    genoa.ssh.remove_authorized_key()
    refused(project, genoa, "[no-access] box", "the host refuses our key", "ssh-copy-id")


def test_a_changed_host_key_is_refused_with_both_fingerprints(project, hub, genoa):
    models.add(hub)
    genoa.ssh.change_host_key()
    seen = refused(project, genoa, "[host-key-changed] box", "ssh-keygen -R", connection=genoa.connection(acceptNewHostKey=True))
    assert seen.text.split("[host-key-changed]")[1].count("SHA256:") >= 2


def test_an_unknown_host_key_needs_a_word(project, hub, genoa, bed):
    models.add(hub)
    bed.client.forget(genoa.address)
    refused(project, genoa, "[host-key-unknown] box", "acceptNewHostKey: true")
    project.configure({"box": genoa.connection(acceptNewHostKey=True)}, {"chat": CHAT})
    project.preview().ok()


def test_a_host_without_docker(project, hub, make_host):
    models.add(hub)
    host = make_host("genoa-small", docker=False)
    refused(project, host, "nothing can run the engine on box", endpoint={"runtime": "docker"})


def test_a_user_who_may_not_use_docker(project, hub, genoa):
    models.add(hub)
    refused(project, genoa, "[no-access]", "docker", "usermod", connection=genoa.connection(user="ops"), endpoint={"runtime": "docker"})


def test_docker_context_would_override_the_host(project, hub, genoa):
    models.add(hub)
    project.environment["DOCKER_CONTEXT"] = "elsewhere"
    refused(project, genoa, "DOCKER_CONTEXT", "unset it")


def test_an_unknown_model(project, hub, genoa):
    refused(project, genoa, "nobody/nothing", "Do this:", endpoint={"model": "nobody/nothing"})


def test_a_gated_model_without_a_token(project, hub, genoa):
    models.add(hub, gated="manual", allowed={"hf_good"})
    refused(project, genoa, "[gated]", "hfToken")
    project.set_secret("hfToken", "hf_good")
    project.preview().ok()


def test_unknown_keys_are_told_with_the_nearest_known_one(project, hub, genoa):
    refused(project, genoa, "did you mean maxModelLen?", "did you mean port?", endpoint={"maxModelLength": 1, "prt": 1})


def test_a_port_that_is_taken(project, hub, genoa):
    models.add(hub)
    refused(project, genoa, "[port-taken]", "22", endpoint={"port": 22})


def test_a_model_that_does_not_fit_is_refused_with_its_numbers(project, hub, genoa):
    models.add(hub, models.HUGE)
    refused(project, genoa, "[memory]", "GiB available", "weights", endpoint={"model": models.HUGE})


def test_an_image_that_is_nowhere_ends_up_before_anything_runs(project, hub, genoa):
    models.add(hub)
    project.configure({"box": genoa.connection()}, {"chat": {**CHAT, "image": "nowhere.invalid/no/image:v0.25.1", "acceptUnverified": True}})
    seen = project.up().failed()
    assert "nowhere.invalid/no/image:v0.25.1" in seen.text and "Traceback" not in seen.text
    assert not genoa.engine.docker("ps", "-aq").stdout.strip()


def test_an_intel_machine_is_refused(project, hub, make_host):
    models.add(hub)
    refused(project, make_host("xeon-small"), "[not-epyc]")


@pytest.mark.parametrize("address", ["recorded:/nowhere", "ssh://-oProxyCommand=id", "box"])
def test_addresses_that_are_none(project, hub, address):
    models.add(hub)
    refused(project, None, "box", "Do this:", connection={"address": address})
