from __future__ import annotations

from planning.health import Measured, compare

TOKENS = 2_097_152


def test_equal_is_one_line_without_warning() -> None:
    assert compare(TOKENS, Measured(kv_cache_tokens=TOKENS, max_concurrency=1024.0), 1024.0, 5, 6) == ("planned 2,097,152 tokens, measured 2,097,152", ())


def test_more_than_one_percent_warns() -> None:
    assert compare(1000, Measured(kv_cache_tokens=990))[1] == ()
    line, warnings = compare(1000, Measured(kv_cache_tokens=989))
    assert line == "planned 1,000 tokens, measured 989" and [w.code for w in warnings] == ["tokens-differ"] and "1.1 % fewer" in warnings[0].message


def test_concurrency_and_memory() -> None:
    warnings = compare(1000, Measured(1000, 3.0), 4.0, 3 << 30, 2 << 30)[1]
    assert [w.code for w in warnings] == ["concurrency-differs", "memory-over-plan"] and "3.0 GiB" in warnings[1].message


def test_unknown_is_said_and_warns_of_nothing() -> None:
    assert compare(None, Measured()) == ("planned unknown tokens, measured unknown", ())
    assert compare(5, Measured(), 1.0, None, 7) == ("planned 5 tokens, measured unknown", ())
