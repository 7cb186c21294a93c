"""The local record is a hint: it survives what people do to files, and never raises."""
from __future__ import annotations

import threading

import pytest

from providers import record


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_entries_come_back_and_go():
    record.write("dev", "proven", "chat", "id1")
    record.write("dev", "proposed", "box", {"chat": {"port": 8000}})
    assert record.read("dev", "proven", "chat") == "id1" and record.read("dev", "proposed", "box") == {"chat": {"port": 8000}}
    record.write("dev", "proven", "chat", None)
    assert record.read("dev", "proven", "chat") is None and record.read("other", "proposed", "box") is None


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff\xfe", b'{"proven": 3}', b'{"proven": []}'])
def test_a_broken_record_is_no_record(tmp_path, content):
    record.write("dev", "proven", "chat", "id1")
    next((tmp_path / ".amd-vllm").iterdir()).write_bytes(content)
    assert record.read("dev", "proven", "chat") is None
    record.write("dev", "proven", "chat", "id2")
    assert record.read("dev", "proven", "chat") == "id2"


def test_a_stack_name_cannot_leave_the_folder(tmp_path):
    record.write("../../x", "proven", "chat", "id1")
    assert [path.parent for path in tmp_path.rglob("record-*")] == [tmp_path / ".amd-vllm"]


def test_writers_at_the_same_time_lose_nothing():
    threads = [threading.Thread(target=record.write, args=("dev", "proven", f"e{i}", i)) for i in range(30)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert all(record.read("dev", "proven", f"e{i}") == i for i in range(30))
