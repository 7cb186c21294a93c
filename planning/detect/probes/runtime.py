"""Probes of container runtimes and of the session: cache, tools, environments, libraries. Data only."""
from __future__ import annotations

from planning.detect.probes.probe import Probe

CACHE = 'c=${HF_HUB_CACHE:-${HF_HOME:-$HOME/.cache/huggingface}}; c=${c%/hub}; ls -d "$c/." >/dev/null 2>&1; '   # the look mounts an automount
NEAREST = 'while [ ! -d "$c" ] && [ -n "$c" ] && [ "$c" != / ]; do c=${c%/*}; done; c=${c:-/}; '

SESSION = r"""
echo "uid=$(id -u)"
echo "user=$(id -un)"
echo "groups=$(id -Gn "$(id -un)" 2>/dev/null)"
echo "session_gids=$(id -G)"
echo "home=$HOME"
echo "arch=$(uname -m)"
set -- $SSH_CONNECTION; echo "ssh_address=${3-}"
"""

TOOLS = ("numactl", "taskset", "systemctl", "loginctl", "curl", "wget", "python3", "docker", "podman", "amd-smi", "rocm-smi", "rocminfo",
         "lscpu", "ss", "findmnt", "timeout", "setsid", "nohup", "sudo")

ENVS = r"""
for e in "$VIRTUAL_ENV" "$CONDA_PREFIX" "$HOME"/.venv* "$HOME"/venv* "$HOME"/*/.venv "$HOME"/miniconda3 "$HOME"/miniconda3/envs/* \
         "$HOME"/miniforge3/envs/* "$HOME"/anaconda3/envs/* "$HOME"/.conda/envs/* /opt/conda /opt/conda/envs/* /opt/venv; do
  [ -n "$e" ] && [ -x "$e/bin/python" ] || continue
  for s in "$e"/lib/python3*/site-packages/vllm; do [ -d "$s" ] && echo "$e/bin/python" && break; done
done
exit 0
"""

LIBRARIES = r"""
{ ldconfig -p 2>/dev/null | sed -n 's/.*=> *//p' | grep -E '/(libtcmalloc_minimal\.so\.4|libiomp5\.so)$'
  for l in /usr/lib/x86_64-linux-gnu/libtcmalloc_minimal.so.4 /usr/lib64/libtcmalloc_minimal.so.4 /opt/venv/lib/libiomp5.so \
           "$HOME"/.venv*/lib/libiomp5.so "$CONDA_PREFIX"/lib/libiomp5.so; do [ -e "$l" ] && echo "$l"; done; } | sort -u
exit 0
"""

HF_CACHE = CACHE + r"""
echo "home=$HOME"
real=$(readlink -f "$c" 2>/dev/null) || real=$c
echo "real=$real"
if [ -d "$c/." ]; then
  echo exists=1
  if [ -w "$c/." ]; then echo writable=1; else echo writable=0; fi
  for m in "$c"/hub/models--*; do [ -d "$m" ] && echo models_at=hub && break; done
  for m in "$c"/models--*; do [ -d "$m" ] && echo models_at=root && break; done
else
  echo exists=0
  n=$c; while [ ! -d "$n" ] && [ -n "$n" ]; do n=${n%/*}; done
  if [ -w "${n:-/}" ]; then echo writable=1; else echo writable=0; fi
fi
exit 0
"""

USER_INSTANCE = ("command -v systemctl >/dev/null || exit 127; if systemctl --user show-environment >/dev/null 2>&1; "
                 "then echo reachable=1; else echo reachable=0; fi; exit 0")

PROBES = (
    Probe("docker-info.json", "command -v docker >/dev/null || exit 127; docker info --format '{{json .}}' 2>&1", "docker-info",
          "whether this session reaches a daemon, which cgroups it uses, rootless or not", required=True, timeout_seconds=8),
    Probe("docker-version.txt", "command -v docker >/dev/null || exit 127; docker --version 2>&1", "docker-version", "Podman's shim gives itself away here"),
    Probe("docker-images.txt", "command -v docker >/dev/null || exit 127; "
          "docker image ls --format '{{.Repository}}:{{.Tag}}' && docker image ls --digests --format '{{.Repository}}@{{.Digest}}'",
          "docker-images", "images that need no download", timeout_seconds=8),
    Probe("podman-info.json", "command -v podman >/dev/null || exit 127; podman info --format json", "podman-info",
          "version, rootless, cgroup controllers of this session", timeout_seconds=8),
    Probe("podman-images.txt", "command -v podman >/dev/null || exit 127; "
          "podman image ls --format '{{.Repository}}:{{.Tag}}' && podman image ls --digests --format '{{.Repository}}@{{.Digest}}'",
          "podman-images", "images that need no download", timeout_seconds=8),
    Probe("session.txt", SESSION.strip(), "session", "user, groups, the address our connection arrived at"),
    Probe("tools.txt", f"for t in {' '.join(TOOLS)}; do command -v $t >/dev/null && echo $t; done; exit 0", "tools", "what can pin, start and ask"),
    Probe("python-envs.txt", ENVS.strip(), "python-envs", "environments that hold vLLM, looked for by path, nothing imported"),
    Probe("libraries.txt", LIBRARIES.strip(), "libraries", "tcmalloc and Intel's OpenMP for a start outside a container"),
    Probe("hf-cache.txt", HF_CACHE.strip(), "hf-cache", "where the model cache really is, whether we may write there"),
    Probe("findmnt-hf-cache.txt", "command -v findmnt >/dev/null || exit 127; " + CACHE + NEAREST
          + 'findmnt -n -r -o TARGET,SOURCE,FSTYPE,OPTIONS --target "$c"', "findmnt", "the cache's file system: locks do not work on all"),
    Probe("user-instance.txt", USER_INSTANCE, "user-instance", "a systemd user instance can keep an endpoint running"),
)
