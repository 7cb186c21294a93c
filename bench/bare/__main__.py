"""One endpoint by hand: an image and a container on a host, with the options that the procedure writes down. Nothing is checked."""
import json

import pulumi
import pulumi_docker as docker

config = pulumi.Config()
NAME, MODEL = config.require("name"), config.require("model")
host = docker.Provider("box", host=config.require("address"), ssh_opts=json.loads(config.require("sshOptions")))
on_host = pulumi.ResourceOptions(provider=host)
image = docker.RemoteImage("chat", name=config.require("image"), keep_locally=True, opts=on_host)
container = docker.Container(
    "chat", name=NAME, image=image.name, network_mode="host", ipc_mode="host", cpu_set="0", restart="unless-stopped",
    command=["vllm", "serve", MODEL, "--dtype", "bfloat16", "--host", "0.0.0.0", "--port", "8100", "--max-model-len", "4096"],
    envs=["VLLM_CPU_OMP_THREADS_BIND=0", "VLLM_CPU_KVCACHE_SPACE=1"], capabilities=docker.ContainerCapabilitiesArgs(adds=["CAP_SYS_NICE"]),
    security_opts=["label=disable"],
    mounts=[docker.ContainerMountArgs(type="bind", source="/root", target="/root/.cache/huggingface")],
    destroy_grace_seconds=30, opts=on_host)
pulumi.export("baseUrl", f"http://{config.require('readers')}:8100/v1")
pulumi.export("model", MODEL)
pulumi.export("container", container.name)
