"""The order of the steps, and the command line of `tools/setup`."""

import argparse
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from . import env_file, plugin, pulumi_cli, system_packages, venv
from .progress import SetupError, done, say

CHECKOUT = Path(__file__).resolve().parents[2]


def main(arguments: list[str]) -> int:
    """Run the steps that `arguments` ask for; 0 when all is ready, 1 with one clear message when not."""
    parser = argparse.ArgumentParser(prog="tools/setup", description="Make this checkout ready to run.")
    parser.add_argument("--e2e", action="store_true", help="install what the end-to-end tests need, from the distribution")
    parser.add_argument("--print-env", action="store_true", help="print the environment that setup wrote, do nothing else")
    options = parser.parse_args(arguments)
    try:
        if options.print_env:
            print(env_file.read(CHECKOUT), end="")
        elif options.e2e:
            system_packages.install()
        else:
            prepare()
    except SetupError as error:
        say(f"stopped: {error}")
        return 1
    except KeyboardInterrupt:
        say("stopped by you; run it again to go on where it was")
        return 130
    return 0


def prepare() -> None:
    """Everything a deployment needs. Each step is silent when there is nothing to do."""
    with ThreadPoolExecutor(1) as beside:                     # pip mostly waits for the network, Go mostly computes
        environment = beside.submit(venv.prepare, CHECKOUT)
        found = pulumi_cli.prepare(CHECKOUT)
        environment.result()
    env_file.write(CHECKOUT, found)
    plugin.prepare(CHECKOUT, found)
    done(f"ready: {found.describe()}; environment in {env_file.path(CHECKOUT).relative_to(CHECKOUT)}")
