"""Every plan of the recorded table: blocks and concurrency within 0.1 %, weights from the config within 2 %."""
from __future__ import annotations

from collections import defaultdict

import pytest

from tests.planning.fit.recorded import KV_BOUND, WEIGHTS_BOUND, Row, errors, rows

BY_MODEL: dict[tuple[str, str], list[Row]] = defaultdict(list)
for _row in rows():
    BY_MODEL[(_row.model, _row.version)].append(_row)


def test_the_table_is_there():
    assert len({model for model, _ in BY_MODEL}) >= 78
    assert {version for _, version in BY_MODEL} == {"0.25.1", "0.32.0"}


@pytest.mark.parametrize(("model", "version"), sorted(BY_MODEL), ids=lambda value: str(value))
def test_numbers_are_those_of_vllm(model, version):
    for row in BY_MODEL[(model, version)]:
        found = errors(row)
        assert found["blocks"] <= KV_BOUND, f"{row.setting}: blocks off by {found['blocks']:.3%}"
        assert found["concurrency"] <= KV_BOUND, f"{row.setting}: concurrency off by {found['concurrency']:.3%}"
        assert found["weights"] <= WEIGHTS_BOUND, f"{row.setting}: weights off by {found['weights']:.3%}"


def test_worst_and_median_are_printed(capsys):
    from tests.planning.fit.report import report

    text = report()
    print(text)
    assert "0.25.1" in text and "0.32.0" in text and "weights" in capsys.readouterr().out
