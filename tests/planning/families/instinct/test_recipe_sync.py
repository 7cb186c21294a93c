"""tools/sync-recipes: the shipped checkout gives the shipped data; nothing is dropped; a failed sync leaves the old data."""
from __future__ import annotations

import json
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
import yaml

from planning.families.instinct.recipe import records
from planning.families.instinct.recipe_schema import facts

ROOT = Path(__file__).resolve().parents[4]
ARCHIVE = ROOT / "tests" / "recipes" / "recipes-8959cf64.tar.xz"


def sync(checkout: Path, out: Path, *more: str) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, str(ROOT / "tools" / "sync-recipes"), str(checkout), "--out", str(out), "--commit", "8959cf64", "--date", "2026-08-19", *more]
    return subprocess.run(words, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def checkout(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("recipes")
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(folder, filter="data")
    return folder


def contents(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text(encoding="utf-8") for path in folder.iterdir()}


def test_the_shipped_checkout_gives_the_shipped_data(checkout, tmp_path):
    done = sync(checkout, tmp_path / "recipes")
    assert done.returncode == 0, done.stderr
    assert contents(tmp_path / "recipes") == contents(ROOT / "data" / "recipes")


def test_all_173_load():
    assert len(records()) == 173
    index = json.loads((ROOT / "data" / "recipes" / "index.json").read_text())
    assert (index["recipes"], index["unreadable"]) == (173, [])
    assert index["source"] == {"repository": "https://github.com/vllm-project/recipes", "commit": "8959cf64", "date": "2026-08-19"}


def test_data_is_small():
    assert sum(path.stat().st_size for path in (ROOT / "data" / "recipes").iterdir()) < 200_000


def test_a_recipe_that_does_not_fit_is_listed_not_dropped(checkout, tmp_path):
    broken = tmp_path / "checkout" / "models" / "org"
    broken.mkdir(parents=True)
    (broken / "bad.yaml").write_text("meta: {}\nmodel: [")
    (broken / "odd.yaml").write_text("model: {model_id: 7}")
    (broken / "good.yaml").write_bytes((checkout / "models" / "Qwen" / "Qwen3.5-9B.yaml").read_bytes())
    assert sync(tmp_path / "checkout", tmp_path / "out").returncode == 0
    index = json.loads((tmp_path / "out" / "index.json").read_text())
    assert index["recipes"] == 1
    assert [entry["file"] for entry in index["unreadable"]] == ["models/org/bad.yaml", "models/org/odd.yaml"]
    assert all(entry["why"] for entry in index["unreadable"])


def test_a_failed_sync_leaves_the_old_data(tmp_path):
    out = tmp_path / "recipes"
    out.mkdir()
    (out / "index.json").write_text("old")
    (tmp_path / "empty").mkdir()
    done = sync(tmp_path / "empty", out)
    assert done.returncode == 1 and "as before" in done.stderr
    assert contents(out) == {"index.json": "old"}


def test_only_what_an_instinct_needs_is_kept(checkout):
    record = facts(yaml.safe_load((checkout / "models" / "Google" / "gemma-4-26B-A4B-it.yaml").read_text()))
    assert "hardware" not in record["variants"]["fp8"], "overrides for NVIDIA's GPUs are left out"
    assert not {"description", "title", "guide"} & record.keys()


def test_options_are_data():
    gpt = next(record for record in records() if record["model"] == "openai/gpt-oss-120b")
    assert gpt["hardware"]["amd"]["flags"]["--block-size"] == "64"
    assert gpt["hardware"]["amd"]["flags"]["-cc.pass_config.fuse_rope_kvcache"] == "True"
    mistral = next(record for record in records() if record["model"] == "mistralai/Ministral-3-8B-Reasoning-2512")
    assert mistral["flags"]["--tokenizer-mode"] == "mistral", "underscores become dashes"
    assert mistral["hardware"]["amd"]["flags"]["--enable-prefix-caching"] is False
