"""The real Pulumi CLI on a copy of the program, with a state, a configuration and a passphrase of its own."""

from __future__ import annotations

import compileall
import json
import shutil
from functools import cache
from pathlib import Path

from .host import Host
from .processes import BedError
from .pulumi_run import Result, Running, base_environment

CHECKOUT = Path(__file__).resolve().parents[3]
PROGRAM = ("Pulumi.yaml", "__main__.py", "components", "planning", "providers", "data")
STACK = "e2e"


@cache
def _compile() -> None:
    """Bytecode for the copies, once: each operation would compile all modules anew."""
    for name in PROGRAM:
        compileall.compile_dir(CHECKOUT / name, quiet=2)


class Project:
    """One stack in a folder of its own. `on`: run Pulumi on this host, for hosts with `address: local`."""

    def __init__(self, folder: Path, hub_url: str | None = None, on: Host | None = None) -> None:
        self.folder, self._on = folder / "program", on
        self.folder.mkdir(parents=True)
        _compile()
        for name in PROGRAM:
            source = CHECKOUT / name
            if source.is_dir():
                shutil.copytree(source, self.folder / name)  # with its bytecode: modification times are kept
            else:
                shutil.copy2(source, self.folder / name)
        (self.folder / ".venv").symlink_to(CHECKOUT / ".venv")
        (self.folder / "stacks").mkdir()
        for part in ("state", "docker-config"):
            (folder / part).mkdir()
        (folder / "docker-config" / "config.json").write_text("{}\n")  # podman runs nothing where DOCKER_CONFIG names a folder without it
        self.environment = base_environment(CHECKOUT, folder)
        if hub_url:
            self.environment["HF_ENDPOINT"] = hub_url
        self._config: dict[str, object] = {}
        self._secrets: dict[str, str] = {}
        self.run("stack", "init", STACK).ok()

    def use(self, environment: Path) -> None:
        """From now on the program and its providers run in this Python environment. The language host that setup builds takes it from PATH."""
        link = self.folder / ".venv"
        link.unlink(missing_ok=True)
        link.symlink_to(environment)
        self.environment["PATH"] = f"{environment / 'bin'}:{self.environment['PATH']}"

    # -- configuration

    def configure(self, hosts: dict[str, object], endpoints: dict[str, object], **more: object) -> None:
        """The whole configuration of the stack, as in the contract; `more` are further keys of the project."""
        self._config = {"hosts": hosts, "endpoints": endpoints, **more}
        self._write()

    def set_secret(self, key: str, value: str) -> None:
        """A secret of the stack, as `pulumi config set --secret` makes it; stays over `configure`."""
        self._secrets[key] = value
        self._write()

    def _write(self) -> None:
        """Pulumi adds the salt of the passphrase to this file; JSON is YAML."""
        path = self.folder / "stacks" / f"Pulumi.{STACK}.yaml"
        salt = [line for line in path.read_text().splitlines() if line.startswith("encryptionsalt:")] if path.exists() else []
        config = {f"amd-vllm:{name}": value for name, value in self._config.items()}
        path.write_text("\n".join([*salt, f"config: {json.dumps(config)}"]) + "\n")
        for key, value in self._secrets.items():
            words = ["--path"] if "." in key else []
            self.run("config", "set", "--secret", *words, key, text=value).ok()

    # -- Pulumi's operations

    def preview(self, *words: str, timeout: float = 120) -> Result:
        return self.run("preview", "--diff", *words, timeout=timeout)

    def up(self, *words: str, timeout: float = 300) -> Result:
        return self.run("up", "--yes", *words, timeout=timeout)

    def refresh(self, *words: str, timeout: float = 180) -> Result:
        return self.run("refresh", "--yes", *words, timeout=timeout)

    def destroy(self, *words: str, timeout: float = 180) -> Result:
        return self.run("destroy", "--yes", *words, timeout=timeout)

    def outputs(self, show_secrets: bool = False) -> dict[str, object]:
        """The stack's outputs."""
        return json.loads(self.run("stack", "output", "--json", *(["--show-secrets"] if show_secrets else [])).ok().out)

    def state(self) -> dict[str, object]:
        """The stack's state, secrets encrypted."""
        return json.loads(self.run("stack", "export").ok().out)

    def resources(self) -> list[dict[str, object]]:
        """The resources in the state."""
        return self.state()["deployment"].get("resources", [])

    def resource(self, name: str) -> dict[str, object]:
        """The one resource of a type, or whose URN ends with this."""
        found = [each for each in self.resources() if each["type"] == name or each["urn"].endswith(name)]
        if len(found) != 1:
            raise BedError(f"{len(found)} resources of {name} in {[each['urn'] for each in self.resources()]}")
        return found[0]

    def run(self, *words: str, timeout: float = 60, text: str | None = None) -> Result:
        """`pulumi WORDS`, to its end. Killed with all that it started when it takes longer than `timeout` seconds."""
        return self.begin(*words, text=text).wait(timeout)

    def begin(self, *words: str, text: str | None = None) -> Running:
        """`pulumi WORDS`, started: for tests that interrupt it or look while it goes on."""
        command = ["pulumi", "-C", str(self.folder), "--non-interactive", "--color", "never", *words]
        if words[0] in ("preview", "up", "refresh", "destroy", "stack", "config") and "--stack" not in words and words[:2] != ("stack", "init"):
            command += ["--stack", STACK]
        return Running(*self.placed(command, self.environment), text)

    def placed(self, command: list[str], environment: dict[str, str]) -> tuple[list[str], dict[str, str]]:
        """Command and environment for where this project's commands run: here, or on its host."""
        if not self._on:
            return command, dict(environment)
        return self._on.namespace.inside("env", f"--chdir={self.folder}", *command), {**environment, "HOME": str(self._on.namespace.home)}

    def close(self) -> None:
        """Take down what is up, for good. A failing destroy is no failure of the test that comes here."""
        if self.run("stack", "ls").status == 0 and self.resources():
            self.destroy()
