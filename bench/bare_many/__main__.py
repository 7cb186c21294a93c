"""Many endpoints by hand: a provider for each host, an image and a container for each endpoint. Nothing is checked, and nobody is asked."""
import pulumi
import pulumi_docker as docker

config = pulumi.Config()
hosts = [docker.Provider(f"box-{number}", host="unix:///var/run/docker.sock") for number in range(config.require_int("hosts"))]
for number in range(config.require_int("endpoints")):
    on_host = pulumi.ResourceOptions(provider=hosts[number % len(hosts)])
    image = docker.RemoteImage(f"chat-{number}", name=config.require("image"), keep_locally=True, opts=on_host)
    container = docker.Container(
        f"chat-{number}", name=f"vllm-{number}", image=image.name, network_mode="host", ipc_mode="host", cpu_set="0", restart="unless-stopped",
        command=["vllm", "serve", "Qwen/Qwen3-0.6B", "--dtype", "bfloat16", "--port", str(8100 + number), "--max-model-len", "4096"],
        envs=["VLLM_CPU_OMP_THREADS_BIND=0", "VLLM_CPU_KVCACHE_SPACE=1"], capabilities=docker.ContainerCapabilitiesArgs(adds=["CAP_SYS_NICE"]),
        mounts=[docker.ContainerMountArgs(type="bind", source="/root", target="/root/.cache/huggingface")], opts=on_host)
    pulumi.export(f"chat-{number}", container.name)
