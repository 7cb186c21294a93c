"""The end-to-end test bed: hosts made of network namespaces, with SSH, Docker and a CPU of the test's choice; the stand-in
for vLLM in images; and the real Pulumi CLI on a copy of the program.

Everything it makes is named `amdvllm-SLOT-…` and goes away with the session, also after `kill -9`:
`python -m tests.e2e.bed clean` removes what a killed session left behind, and each session starts with that.
Needs root on Linux, and the packages that `tools/setup --e2e` installs. Standard library only.
"""
