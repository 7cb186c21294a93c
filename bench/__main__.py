"""`python -m bench [NAME ...] [--rounds N]`: run benchmarks, print their tables, keep them in bench/results/."""
from __future__ import annotations

import argparse
from importlib import import_module

from bench import machine, results

NAMES = ("planning", "waterfall", "link", "engine", "scale")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(NAMES)}; all without one")
    parser.add_argument("--rounds", type=int, default=5, help="medians of so many (5)")
    parser.add_argument("--hosts", type=int, nargs="*", help="scale: numbers of recorded hosts (1 8 32 128)")
    parser.add_argument("--real-hosts", type=int, nargs="*", help="scale: numbers of namespace hosts with sshd (1 8)")
    args = parser.parse_args()
    for name in args.names:
        if name not in NAMES:
            parser.error(f"{name} is none of {', '.join(NAMES)}")
    for name in args.names or NAMES:
        rows = _one(name, args)
        results.keep(name, machine.facts(), rows)
        print(f"\n{name}\n{results.table(rows)}", flush=True)


def _one(name: str, args: argparse.Namespace) -> list[results.Row]:
    from bench.place import Place

    place = Place()
    try:
        return import_module(f"bench.{name}").measure(place, args)
    finally:
        place.close()


if __name__ == "__main__":
    main()
