"""The shell of the runtime `host`: constants. The state folder is ~/.local/state/amd-vllm/NAME, mode 0700, and nothing outside it is
touched but the unit file of the same name.

Files there: meta.json (id, image, labels), ps.json (what a survey reads), argv and environment (one a line), secrets and hf_token (0600), policy (restart,
grace in seconds), supervise.sh, stop.sh, and what the supervisor writes: pid, state ("STATUS RESTARTS EXIT-STATUS"), started, log.
"""
from __future__ import annotations

_FOLDER = r'''
case $1 in */*|.|..|"") exit 64;; esac
dir=$HOME/.local/state/amd-vllm/$1
name=$1
alive() { # the supervisor runs, and it is ours: a process id may have been given to another
  [ -r "$dir/pid" ] || return 1
  read -r pid <"$dir/pid" || return 1
  [ -r "/proc/$pid/cmdline" ] && tr '\0' '\n' <"/proc/$pid/cmdline" | grep -qxF -- "$dir/supervise.sh"
}
leftovers() { # whatever still runs in the folder: the engine's own processes, also when the supervisor was killed
  for p in /proc/[0-9]*; do [ "$p/cwd" -ef "$dir" ] && kill -KILL "${p#/proc/}" 2>/dev/null; done
  :
}
systemd() { [ -f "$unit" ] && grep -qxF "# amd-vllm $name" "$unit"; }
unit=${XDG_CONFIG_HOME:-$HOME/.config}/systemd/user/$name.service
XDG_RUNTIME_DIR=${XDG_RUNTIME_DIR:-/run/user/$(id -u)}; export XDG_RUNTIME_DIR
'''

SUPERVISE = r'''#!/bin/sh
# Runs an engine and starts it again when it ends, with growing pauses. Written by amd-vllm; ends on TERM.
dir=${0%/*}
cd "$dir" || exit 1
trap '' HUP
stopping=
child=
trap 'stopping=1; [ -z "$child" ] || kill -TERM "$child" 2>/dev/null' TERM INT
tell() { echo "$1 $restarts $2" >state.tmp && mv state.tmp state; }
read -r policy grace <policy
echo $$ >pid
for file in environment secrets; do
  while IFS= read -r line; do [ -z "$line" ] || export "$line"; done <"$file"
done
[ ! -f hf_token ] || { HF_TOKEN_PATH=$dir/hf_token; export HF_TOKEN_PATH; }
set --
while IFS= read -r word; do set -- "$@" "$word"; done <argv
restarts=0 pause=1
while :; do
  [ ! -f log ] || [ "$(wc -c <log)" -lt 52428800 ] || mv log log.1
  date -u +%Y-%m-%dT%H:%M:%SZ >started
  "$@" >>log 2>&1 </dev/null &
  child=$!
  tell running 0
  [ -z "$stopping" ] || kill -TERM "$child" 2>/dev/null
  wait "$child"; status=$?
  while kill -0 "$child" 2>/dev/null; do wait "$child"; status=$?; done
  child=
  if [ -n "$stopping" ] || [ "$policy" = no ]; then tell exited "$status"; exit 0; fi
  restarts=$((restarts + 1))
  tell restarting "$status"
  sleep "$pause" & wait $!
  [ -z "$stopping" ] || { tell exited "$status"; exit 0; }
  pause=$((pause * 2)); [ "$pause" -le 60 ] || pause=60
done
'''

CREATE = _FOLDER + r'''
set -eu
umask 077
[ ! -e "$dir" ] || { echo "$dir is there already" >&2; exit 17; }
mkdir -p "${dir%/*}"
new=$(mktemp -d "${dir%/*}/.new.XXXXXX")    # whole or not at all
trap 'rm -rf "$new"' EXIT
tar -xf - -C "$new"
echo "created 0 0" >"$new/state"
mv "$new" "$dir"
'''

START = _FOLDER + r'''
set -eu
[ "$(cat "$dir/id" 2>/dev/null)" = "$2" ] || { echo "the state folder $dir is gone, or another's" >&2; exit 3; }
alive && { cat "$dir/started"; exit 0; }
rm -f "$dir/started" "$dir/pid"
lingers=$(loginctl show-user "$(id -un)" --property=Linger --value 2>/dev/null || echo unknown)
if [ "$lingers" = yes ] && systemctl --user show-environment >/dev/null 2>&1; then
  read -r policy grace <"$dir/policy"
  { [ ! -e "$unit" ] || systemd; } || { echo "$unit is not ours" >&2; exit 17; }
  mkdir -p "${unit%/*}"
  again=on-failure
  [ "$policy" != no ] || again=no
  printf '%s\n' "# amd-vllm $name" "[Unit]" "Description=vLLM endpoint $name" "[Service]" "ExecStart=/bin/sh \"$dir/supervise.sh\"" \
    "Restart=$again" RestartSec=1 OOMPolicy=continue KillMode=mixed "TimeoutStopSec=$grace" "[Install]" WantedBy=default.target >"$unit"
  systemctl --user daemon-reload
  systemctl --user enable --quiet "$name" 2>/dev/null || :
  systemctl --user restart "$name"
else
  setsid nohup sh "$dir/supervise.sh" >/dev/null 2>&1 </dev/null &
fi
n=0
while [ ! -s "$dir/started" ]; do n=$((n + 1)); [ "$n" -le 100 ] || { echo "the supervisor did not start" >&2; exit 4; }; sleep 0.1; done
cat "$dir/started"
'''

STOP = _FOLDER + r'''
[ -d "$dir" ] || exit 0
if systemd; then systemctl --user stop "$name" 2>/dev/null; fi
alive || { leftovers; exit 0; }
read -r policy grace <"$dir/policy"
kill -TERM "$pid" 2>/dev/null
n=0
while alive && [ "$n" -lt $(( (grace + 1) * 5 )) ]; do sleep 0.2; n=$((n + 1)); done
leftovers
exit 0
'''

STOP_FILE = '#!/bin/sh\n# Stops this endpoint. Written by amd-vllm.\nset -- "$(basename "$(cd "${0%/*}" && pwd)")"\n' + STOP

REMOVE = _FOLDER + r'''
if systemd; then
  systemctl --user disable --now --quiet "$name" 2>/dev/null
  rm -f "$unit"
  systemctl --user daemon-reload 2>/dev/null
fi
[ ! -d "$dir" ] || rm -rf "$dir"
'''

LOOK = _FOLDER + r'''
[ -f "$dir/meta.json" ] || { echo '{}'; exit 0; }
cat "$dir/meta.json"; echo
printf '%s\n' "$(cat "$dir/state" 2>/dev/null)" "$(cat "$dir/started" 2>/dev/null)"
if alive; then echo alive; else echo dead; fi
wc -l <"$dir/argv"; cat "$dir/argv"
wc -l <"$dir/environment"; cat "$dir/environment"
echo --amd-vllm-log--
[ "$2" = 0 ] || tail -n "$2" "$dir/log" 2>/dev/null | head -c 4000000
exit 0
'''

READ_STACK = 'timeout "$3" "$1" -c "$2" </dev/null'
