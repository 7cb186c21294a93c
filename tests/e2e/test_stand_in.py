"""The stand-in for vLLM speaks like the real 0.25.1: shapes and lines are held against excerpts of recorded runs (stand_in/recorded)."""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.bed import images

RECORDED = Path(__file__).resolve().parent / "stand_in" / "recorded"
STARTS = re.compile(r"\d\d-\d\d \d\d:\d\d:\d\d|pid=\d+|\[\d+\]|0x[0-9a-f]+")


class Server:
    """The program, run as `vllm serve` without a container."""

    def __init__(self, folder: Path, *words: str, **environment: str) -> None:
        self.port = _free_port()
        self.log = folder / "log"
        (folder / "vllm").symlink_to(images.binary())
        with open(self.log, "w") as stream:
            self.process = subprocess.Popen([folder / "vllm", "serve", "/models/tiny", "--served-model-name", "tiny", "--max-model-len", "2048",
                                             "--port", str(self.port), *words], stdout=stream, stderr=stream,
                                            env={"STAND_IN_START_SECONDS": "0", "VLLM_CPU_KVCACHE_SPACE": "1",
                                                 "VLLM_CPU_OMP_THREADS_BIND": "0-1", **environment})

    def serving(self) -> Server:
        deadline = time.monotonic() + 20
        while "Application startup complete." not in self.log.read_text() and time.monotonic() < deadline:
            time.sleep(0.02)
        return self

    def ask(self, path: str, body: object = None, method: str | None = None, **headers: str) -> tuple[int, object]:
        """Status and body (parsed when it is JSON)."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", data, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=5) as answer:
                status, text = answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            status, text = error.code, error.read().decode()
        try:
            return status, json.loads(text)
        except ValueError:
            return status, text

    def chat(self, **more: object) -> tuple[int, object]:
        return self.ask("/v1/chat/completions", {"model": "tiny", "messages": [{"role": "user", "content": "hi"}], "max_tokens": 8, **more})

    def completions(self, **more: object) -> tuple[int, object]:
        return self.ask("/v1/completions", {"model": "tiny", "prompt": "hi", "max_tokens": 8, **more})

    def four(self) -> list[tuple[int, object]]:
        """The four questions of the recorded .http files, in their order."""
        return [self.ask("/v1/models"), self.chat(), self.completions(), self.chat(model="nope")]


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _recorded(name: str) -> list[tuple[int, object]]:
    parts = re.split(r"^## .*\n", (RECORDED / f"{name}.http").read_text(), flags=re.MULTILINE)[1:]
    return [(int(part.splitlines()[1]), json.loads(part.splitlines()[0])) for part in parts]


def _shape(value: object) -> object:
    """Keys and types, all the way down; the first item stands for a list."""
    if isinstance(value, dict):
        return {key: _shape(item) for key, item in sorted(value.items())}
    if isinstance(value, list):
        return [_shape(item) for item in value[:1]]
    return type(value).__name__


@pytest.fixture
def serve(tmp_path: Path) -> Iterator:
    made: list[Server] = []

    def make(*words: str, **environment: str) -> Server:
        made.append(Server(tmp_path, *words, **environment))
        return made[-1]
    yield make
    for server in made:
        server.process.kill()
        server.process.wait()


@pytest.mark.parametrize(("recorded", "environment"), [
    ("ok", {}), ("nochat", {"STAND_IN_FAIL": "no-chat-template"}), ("bert", {"STAND_IN_FAIL": "pooling"}), ("api-key", {"VLLM_API_KEY": "k"})])
def test_answers_have_the_recorded_status_and_shape(serve, recorded, environment):
    answers = serve(**environment).serving().four()
    for (status, body), (real_status, real_body) in zip(answers, _recorded(recorded), strict=True):
        assert status == real_status
        assert _shape(body) == _shape(real_body)


def test_messages_of_errors_are_the_recorded_ones(serve):
    answers = serve(STAND_IN_FAIL="no-chat-template").serving().four()
    for (status, body), (_, real_body) in zip(answers, _recorded("nochat"), strict=True):
        if status >= 400:
            assert body == real_body


def test_the_key_closes_what_it_closes_in_the_real_one(serve):
    server = serve(VLLM_API_KEY="k").serving()
    for line in (RECORDED / "api-key.probe").read_text().splitlines():
        path, get, post = line.split()
        if "/invocations" not in path:
            assert server.ask(path)[0] == int(get), path
            assert server.ask(path, {"prompt": "hi"})[0] == int(post), path
    assert server.ask("/v1/models", Authorization="Bearer k")[0] == 200


def test_the_log_of_a_start_has_the_recorded_lines(serve):
    server = serve().serving()
    said = {STARTS.sub("", line).strip() for line in server.log.read_text().splitlines()}
    recorded = [STARTS.sub("", line).strip() for line in (RECORDED / "ok.log").read_text().splitlines()]
    end = next(index for index, line in enumerate(recorded) if "Application startup complete" in line)
    missing = [line for line in recorded[:end + 1] if line not in said]
    assert [line for line in missing if "non-default args" not in line and "8120" not in line] == []
    assert "GPU KV cache size: 2,097,152 tokens" in server.log.read_text()
    assert "Maximum concurrency for 2,048 tokens per request: 1024.00x" in server.log.read_text()


def test_kv_tokens_follow_space_heads_and_ranks(serve):
    server = serve("--tensor-parallel-size", "2", "--max-model-len", "4096", VLLM_CPU_KVCACHE_SPACE="2", STAND_IN_KV_BYTES_PER_TOKEN="114688").serving()
    assert "GPU KV cache size: 37,376 tokens" in server.log.read_text()      # 2 GiB / (114688 B x 128) = 146 blocks, on two ranks


def test_sigterm_ends_it_in_good_order(serve):
    server = serve().serving()
    server.process.send_signal(signal.SIGTERM)
    assert server.process.wait(5) == 0
    assert re.search(r"Shutting down\n.*Waiting for application shutdown\.\n.*Application shutdown complete\.\n.*Finished server process \[\d+\]\n$",
                     server.log.read_text())


def test_nothing_listens_while_it_loads(serve):
    server = serve(STAND_IN_FAIL="slow-start:30")
    time.sleep(0.5)
    with pytest.raises(urllib.error.URLError, match="refused"):
        server.ask("/health")
    server.process.send_signal(signal.SIGTERM)
    assert server.process.wait(5) == 143


def test_an_unknown_option_is_refused_as_recorded(serve):
    server = serve("--no-such-flag", "3")
    assert server.process.wait(10) == 2
    assert server.log.read_text().splitlines() == (RECORDED / "bad-flag.log").read_text().splitlines()[-3:]


def test_options_of_the_real_one_are_known(serve):
    server = serve("--no-enable-prefix-caching", "--enforce_eager", "--hf-overrides.rope_scaling", "x", "--reasoning-parser=qwen3", "-tp", "1").serving()
    assert server.ask("/health") == (200, "")


@pytest.mark.parametrize("kind", ["oom", "kv-too-big", "bad-arch", "gated-no-license", "remote-code", "port-taken", "no-weights", "mla"])
def test_a_failure_ends_with_the_recorded_log(serve, kind):
    server = serve(STAND_IN_FAIL=kind)
    assert server.process.wait(10) == 1
    real = (RECORDED / f"{kind}.log").read_text().splitlines()[-1].replace("8120", str(server.port))
    assert STARTS.sub("", server.log.read_text().splitlines()[-1]) == STARTS.sub("", real)


def test_a_taken_port_is_noticed(serve):
    with socket.socket() as holder:
        holder.bind(("0.0.0.0", 0))
        holder.listen()
        server = serve("--port", str(holder.getsockname()[1]))
        assert server.process.wait(10) == 1
    assert "Address already in use" in server.log.read_text()


@pytest.mark.parametrize(("kind", "expected"), [
    ("error-body-200", lambda body: "error" in body), ("empty-choices", lambda body: body["choices"] == []),
    ("empty-text", lambda body: body["choices"][0]["message"]["content"] == ""),
    ("garbage", lambda body: set(body["choices"][0]["message"]["content"]) == {"!"})])
def test_bad_answers_on_demand(serve, kind, expected):
    server = serve(STAND_IN_FAIL=kind).serving()
    status, body = server.chat()
    assert status == 200 and expected(body)


def test_a_hung_engine_is_healthy_and_never_answers(serve):
    server = serve(STAND_IN_FAIL="health-200-but-dead").serving()
    assert server.ask("/health")[0] == 200 and server.ask("/v1/models")[0] == 200
    with pytest.raises(TimeoutError):
        server.chat()


def test_a_stream_ends_with_done(serve):
    status, text = serve().serving().chat(stream=True)
    assert status == 200 and text.rstrip().endswith("data: [DONE]") and '"chat.completion.chunk"' in text


def test_the_version_probe_gets_one_line_of_json(tmp_path):
    (tmp_path / "python3").symlink_to(images.binary())
    said = subprocess.run([tmp_path / "python3", "-c", "import vllm"], capture_output=True, text=True, check=True,
                          env={"STAND_IN_STACK": json.dumps(images.ZENTORCH)}).stdout
    assert json.loads(said) == images.ZENTORCH
