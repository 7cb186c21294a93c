"""The runtime `docker`: containers are declared with pulumi-docker; the rest goes through the docker command."""
from __future__ import annotations

from providers.runtimes.containers import Containers

RUNTIME = Containers("docker")
