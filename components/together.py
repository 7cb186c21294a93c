"""Several outputs as one, each value as it is.

`pulumi.Output.all` takes what it is given apart and makes an output of every number in it: some hundred for each plan, which the program
then waits for one by one, again and again. This was most of the time of a program with many endpoints.
"""
from __future__ import annotations

from typing import Any

import pulumi


def together(*inputs: Any) -> pulumi.Output[list]:
    """The values of the inputs as a list; unknown or secret when one of them is."""
    first, *rest = (value if isinstance(value, pulumi.Output) else pulumi.Output.from_input(value) for value in inputs)
    if not rest:
        return first.apply(lambda value: [value])
    return first.apply(lambda value: together(*rest).apply(lambda others: [value, *others]))
