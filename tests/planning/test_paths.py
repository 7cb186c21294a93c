"""Which folders of a host a container may write to: by the configuration, and by what the host says of itself."""
from __future__ import annotations

import pytest

from planning.detect import load_recording, read_host
from planning.request import parse_endpoint
from tests.planning.paper import TESTS

SYSTEM = ["/", "//", "/.", "/etc", "/etc/", "//etc/.", "/usr", "/bin", "/sbin", "/lib", "/lib64", "/boot", "/dev", "/proc", "/sys", "/run", "/root", "/home",
          "/home/ops", "/home/u/", "/var"]
OWN = ["/root/.cache", "/var/lib/x", "/home/u/x", "/library/x", "/data", "/mnt/hf", "/scratch", "/usr/local/hf", "/proc/nothing/here", "/etcetera"]


@pytest.mark.parametrize("path", [*SYSTEM, "~/", "~//", "~/.", "~"])
def test_a_home_and_the_system_are_no_model_cache(path):
    request, (problem,) = parse_endpoint("chat", {"kind": "epyc", "host": "box", "hfCache": path})
    assert request is None and problem.code == "bad-value" and problem.what == "endpoint chat: hfCache"


@pytest.mark.parametrize("path", [*OWN, "~/hf"])
def test_a_folder_for_the_models_alone(path):
    assert parse_endpoint("chat", {"kind": "epyc", "host": "box", "hfCache": path})[0].hf_cache == path


@pytest.mark.parametrize("said", [*SYSTEM, "/a,target=/etc,x", "--x", "/a:/b", "/a/../etc", "~/x", "relative"])
def test_a_cache_that_a_host_must_not_name_is_unknown(said):
    storage = storage_of("real=/home/ops/.cache/huggingface", f"real={said}")
    assert (storage.home, storage.hf_cache, storage.hf_cache_exists, storage.hf_cache_writable, storage.hf_cache_fstype) == ("/home/ops", *[None] * 4)


@pytest.mark.parametrize("said", OWN)
def test_a_cache_that_a_host_may_name(said):
    storage = storage_of("real=/home/ops/.cache/huggingface", f"real={said}")
    assert (storage.hf_cache, storage.hf_cache_exists) == (said, True)


@pytest.mark.parametrize("said, home", [("/export/ops", "/export/ops"), ("/a,target=/etc,x", None), ("--x", None), ("/", "/")])
def test_the_home_of_a_host(said, home):
    assert storage_of("home=/home/ops", f"home={said}").home == home
    assert storage_of("real=/home/ops/.cache/huggingface", "real=/export/ops", "home=/home/ops", "home=/export/ops").hf_cache is None


def storage_of(*changes: str):
    """Of a recorded host, with one text in place of another each time."""
    outputs = load_recording(TESTS / "hosts/synthetic-genoa-dual")
    text = outputs["hf-cache.txt"]
    for old, new in zip(changes[::2], changes[1::2]):
        assert old in text
        text = text.replace(old, new)
    return read_host("box", {**outputs, "hf-cache.txt": text})[0].storage
