"""Endpoints of a host are planned together, so all of them are declared before the program awaits anything."""
from __future__ import annotations

import pulumi
import pytest

from components.host import Host
from planning.request import parse_endpoint


def test_an_endpoint_after_the_plan_is_too_late():
    host = Host.__new__(Host)
    host.name, host._plan, host.planned, host._requests = "box", object(), [object()], {}
    request, _ = parse_endpoint("late", {"kind": "epyc", "host": "box"})
    with pytest.raises(pulumi.RunError, match="late comes too late: declare all endpoints of box before"):
        host.plan_for("late", request, "org/model", False)
