"""Writes the one POSIX sh script that runs all probes of a host in one round trip, to be fed to `sh -s` on standard input.

Every probe runs in the background with its own time limit, its output in a private temporary folder, so that a hanging one
costs its own limit only; the script waits for the slowest limit, not for processes that no signal can end. What a
probe prints is framed by a nonce that is made on the host. See split.py for the reader.
"""
from __future__ import annotations

from collections.abc import Iterable

from planning.detect.probes.probe import Probe

HEADER = "AMD-VLLM-PROBES 1"
CUT_STATUS = 250
TIMEOUT_STATUS = 124
GRACE_SECONDS = 2

PROLOGUE = r"""
LC_ALL=C; export LC_ALL; unset LANGUAGE
PATH=$PATH:/usr/local/bin:/usr/sbin:/sbin:/opt/rocm/bin; export PATH
umask 077
d=$(mktemp -d "${TMPDIR:-/tmp}/amd-vllm.XXXXXX" 2>/dev/null) || { d=${TMPDIR:-/tmp}/amd-vllm.$$; mkdir "$d" || exit 90; }
trap 'rm -rf "$d"' EXIT
trap 'exit 129' HUP; trap 'exit 130' INT; trap 'exit 143' TERM
nonce=$(od -An -N8 -tx1 /dev/urandom 2>/dev/null | tr -d ' \n'); nonce=${nonce:-$$$(date +%s)}
if timeout 5 true 2>/dev/null; then limited() { s=$1; shift; timeout "$s" "$@"; }
else
  limited() {
    s=$1; shift
    "$@" & p=$!
    ( exec >/dev/null 2>&1; n=0; while [ $n -lt "$s" ]; do sleep 1; n=$((n+1)); kill -0 $p || exit 0; done; : >"$d/late.$p"; kill $p; sleep 1; kill -9 $p ) &
    wait $p; r=$?
    [ -e "$d/late.$p" ] && return 124
    return $r
  }
fi
probe() { # name seconds blocks
  ( ulimit -f "$3" 2>/dev/null; limited "$2" sh "$d/$1.sh" >"$d/$1.out" 2>/dev/null </dev/null )
  echo $? >"$d/$1.tmp"; mv "$d/$1.tmp" "$d/$1.status"
}
show() { # name bytes
  r=124; [ -r "$d/$1.status" ] && read -r r <"$d/$1.status"
  size=$(wc -c <"$d/$1.out" 2>/dev/null) || size=0
  [ "$size" -gt "$2" ] && r=250
  echo "==$nonce BEGIN $1"
  [ -r "$d/$1.out" ] && head -c "$2" "$d/$1.out"
  echo
  echo "==$nonce END $1 $r"
}
"""


def script(probes: Iterable[Probe]) -> str:
    """The whole script for these probes; its output is bounded by their limits together."""
    chosen = list(probes)
    lanes: dict[str, list[Probe]] = {}
    for probe in chosen:
        lanes.setdefault(probe.lane or probe.name, []).append(probe)
    longest = max((sum(p.timeout_seconds for p in lane) if len(lane) == 1 else _lane_seconds(lane) for lane in lanes.values()), default=0)
    parts = [PROLOGUE.strip(), *(_body(probe) for probe in chosen), *(_start(lane) for lane in lanes.values()),
             _wait(chosen, longest + GRACE_SECONDS), f'echo "{HEADER} $nonce"']
    parts += [f"show {probe.name} {probe.max_bytes}" for probe in chosen]
    parts += ['echo "==$nonce DONE"', "exit 0"]
    return "\n".join(parts) + "\n"


def _lane_seconds(lane: list[Probe]) -> int:
    """A lane stops at its first time-out, so all but one of its probes are quick; each gets two seconds for that."""
    return max(probe.timeout_seconds for probe in lane) + 2 * (len(lane) - 1)


def _body(probe: Probe) -> str:
    marker = "AMD_VLLM_PROBE_END"
    return f"cat >\"$d/{probe.name}.sh\" <<'{marker}'\n{probe.command}\n{marker}"


def _start(lane: list[Probe]) -> str:
    """Runs a lane in the background, without our standard output, so that nothing can hold the connection open."""
    steps: list[str] = []
    for at, probe in enumerate(lane):
        run = f"probe {probe.name} {probe.timeout_seconds} {probe.max_bytes // 512 * 4}"
        rest = " ".join(later.name for later in lane[at:])
        give_up = f'{{ for n in {rest}; do echo {TIMEOUT_STATUS} >"$d/$n.status"; done; exit; }}'
        steps.append(run if at == 0 else f'read -r r <"$d/{lane[at - 1].name}.status"; [ "$r" = {TIMEOUT_STATUS} ] && {give_up}; {run}')
    return "( " + "; ".join(steps) + " ) >/dev/null 2>&1 </dev/null &"


def _wait(probes: list[Probe], seconds: int) -> str:
    names = " ".join(probe.name for probe in probes)
    return (f'end=$(( $(date +%s) + {seconds} ))\n'
            f'while [ "$(date +%s)" -lt "$end" ]; do\n'
            f'  open=; for n in {names}; do [ -e "$d/$n.status" ] || {{ open=1; break; }}; done\n'
            f'  [ -n "$open" ] || break\n'
            f'  sleep 0.05 2>/dev/null || sleep 1\n'
            f'done')
