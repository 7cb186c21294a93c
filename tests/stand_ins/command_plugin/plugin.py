"""A STAND-IN for the plugin of pulumi-command 1.2, for machines that cannot download it: `command:local:Command` and nothing else.

It does what the package documents of create, update, delete, interpreter, environment, dir, stdin and triggers, with standard output and
error of the last run in the environment of the next. A test project names it in `plugins:` of its Pulumi.yaml; users get the official one.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import uuid
from collections.abc import Mapping
from concurrent import futures
from typing import Any

import grpc
from google.protobuf import empty_pb2, json_format, struct_pb2
from pulumi.runtime.proto import plugin_pb2, provider_pb2, provider_pb2_grpc
from pulumi.runtime.rpc import UNKNOWN

TYPE = "command:local:Command"
VERSION = "1.2.1"
MESSAGE_BYTES = 64 << 20


class Failed(Exception):
    """A command that ended with a status other than 0."""


def run(command: str, inputs: Mapping[str, Any], before: Mapping[str, Any]) -> dict[str, str]:
    """`stdout` and `stderr` of one run, without the last newline."""
    environment = {**os.environ, **inputs.get("environment", {})}
    if inputs.get("addPreviousOutputInEnv", True) and "stdout" in before:
        environment.update(PULUMI_COMMAND_STDOUT=before["stdout"], PULUMI_COMMAND_STDERR=before["stderr"])
    words = [*inputs.get("interpreter", ["/bin/sh", "-c"]), command]
    done = subprocess.run(words, input=inputs.get("stdin", ""), capture_output=True, text=True, env=environment, cwd=inputs.get("dir"), check=False)
    if done.returncode:
        raise Failed(f"exit status {done.returncode}: running {command!r}:\n{done.stderr}{done.stdout}")
    return {"stdout": done.stdout.removesuffix("\n"), "stderr": done.stderr.removesuffix("\n")}


class Provider(provider_pb2_grpc.ResourceProviderServicer):
    """The calls that the engine makes for a custom resource."""

    def Handshake(self, request, context):
        return provider_pb2.ProviderHandshakeResponse()

    def GetPluginInfo(self, request, context):
        return plugin_pb2.PluginInfo(version=VERSION)

    def GetSchema(self, request, context):
        return provider_pb2.GetSchemaResponse(schema=json.dumps({"name": "command", "version": VERSION, "resources": {TYPE: {}}}))

    def CheckConfig(self, request, context):
        return provider_pb2.CheckResponse(inputs=request.news)

    def DiffConfig(self, request, context):
        return provider_pb2.DiffResponse(changes=provider_pb2.DiffResponse.DIFF_NONE)

    def Configure(self, request, context):
        return provider_pb2.ConfigureResponse()

    def Check(self, request, context):
        return provider_pb2.CheckResponse(inputs=request.news)

    def Diff(self, request, context):
        old, new = plain(request.old_inputs), plain(request.news)
        changed = sorted(name for name in old.keys() | new.keys() if old.get(name) != new.get(name))
        kind = provider_pb2.DiffResponse.DIFF_SOME if changed else provider_pb2.DiffResponse.DIFF_NONE
        return provider_pb2.DiffResponse(changes=kind, diffs=changed, replaces=[name for name in changed if name == "triggers"])

    def Create(self, request, context):
        inputs = plain(request.properties)
        if request.preview:
            return provider_pb2.CreateResponse(properties=packed({**inputs, "stdout": UNKNOWN, "stderr": UNKNOWN}))
        outputs = attempt(context, inputs.get("create", ""), inputs, {})
        return provider_pb2.CreateResponse(id=f"command{uuid.uuid4().hex[:8]}", properties=packed({**inputs, **outputs}))

    def Update(self, request, context):
        inputs, before = plain(request.news), plain(request.olds)
        if request.preview:
            return provider_pb2.UpdateResponse(properties=packed({**inputs, "stdout": UNKNOWN, "stderr": UNKNOWN}))
        outputs = attempt(context, inputs.get("update") or inputs.get("create", ""), inputs, before)
        return provider_pb2.UpdateResponse(properties=packed({**inputs, **outputs}))

    def Delete(self, request, context):
        before = plain(request.properties)
        attempt(context, before.get("delete", ""), before, before)
        return empty_pb2.Empty()

    def Read(self, request, context):
        return provider_pb2.ReadResponse(id=request.id, properties=request.properties, inputs=request.inputs)

    def Cancel(self, request, context):
        return empty_pb2.Empty()


def attempt(context: grpc.ServicerContext, command: str, inputs: Mapping[str, Any], before: Mapping[str, Any]) -> dict[str, str]:
    """The outputs of a run, none for an empty command; ends the call when it fails."""
    try:
        return run(command, inputs, before) if command else {"stdout": "", "stderr": ""}
    except (Failed, OSError) as error:
        return context.abort(grpc.StatusCode.UNKNOWN, str(error))


def plain(struct: struct_pb2.Struct) -> dict[str, Any]:
    return json_format.MessageToDict(struct)


def packed(values: Mapping[str, Any]) -> struct_pb2.Struct:
    struct = struct_pb2.Struct()
    struct.update(values)
    return struct


def main() -> None:
    server = grpc.server(futures.ThreadPoolExecutor(4), options=[("grpc.max_receive_message_length", MESSAGE_BYTES)])
    provider_pb2_grpc.add_ResourceProviderServicer_to_server(Provider(), server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    sys.stdout.write(f"{port}\n")
    sys.stdout.flush()
    server.wait_for_termination()


if __name__ == "__main__":
    main()
