"""Probes of AMD GPUs: the kernel's files first, then the tools as further witnesses. Data only."""
from __future__ import annotations

from planning.detect.probes.probe import Probe

KFD_FIELDS = ("cpu_cores_count|simd_count|simd_per_cu|gfx_target_version|vendor_id|device_id|location_id|domain|drm_render_minor|"
              "local_mem_size|num_xcc|heap_type|size_in_bytes")

PCI_SCAN = r"""
for p in /sys/bus/pci/devices/*; do
  IFS= read -r v <"$p/vendor" || continue
  [ "$v" = 0x1002 ] || continue
  IFS= read -r c <"$p/class" || continue
  case $c in 0x03*|0x12*) ;; *) continue;; esac
  d= n= vt= cp= mp= dr= r= vf=0
  IFS= read -r d <"$p/device"; IFS= read -r n <"$p/numa_node"
  [ -e "$p/driver" ] && dr=$(readlink "$p/driver") && dr=${dr##*/}
  for x in "$p"/drm/renderD*; do [ -e "$x" ] && r=${x##*/}; done
  [ -r "$p/mem_info_vram_total" ] && IFS= read -r vt <"$p/mem_info_vram_total"
  [ -r "$p/current_compute_partition" ] && IFS= read -r cp <"$p/current_compute_partition"
  [ -r "$p/current_memory_partition" ] && IFS= read -r mp <"$p/current_memory_partition"
  [ -e "$p/physfn" ] && vf=1
  echo "${p##*/} device=$d class=$c numa_node=$n driver=$dr render=$r vram_total=$vt compute=$cp memory=$mp vf=$vf"
done
[ -d /sys/bus/pci/devices ] && echo scanned:1
exit 0
"""

DEV_SCAN = r"""
for p in /dev/kfd /dev/dri/renderD*; do
  [ -e "$p" ] || continue
  set -- $(ls -lnd "$p"); u=0
  [ -r "$p" ] && [ -w "$p" ] && u=1
  echo "${p##*/} uid=$3 gid=$4 usable=$u"
done
echo scanned:1
"""

AMD_SMI = "command -v amd-smi >/dev/null || exit 127; "
ROCM_SMI = "command -v rocm-smi >/dev/null || exit 127; "

PROBES = (
    Probe("kfd-topology-grep.txt", "cd /sys/class/kfd/kfd/topology || exit 1; "
          f"grep -E '^({KFD_FIELDS}) ' nodes/*/properties nodes/*/mem_banks/*/properties /dev/null; grep . nodes/*/gpu_id /dev/null; exit 0",
          "kfd-topology", "gfx version, partitions and the memory that a device really has", required=True, max_bytes=1_048_576),
    Probe("pci-display.txt", PCI_SCAN.strip(), "pci", "AMD cards, also those without a driver; NUMA node; virtual functions", required=True),
    Probe("dev-access.txt", DEV_SCAN.strip(), "dev-access", "numeric groups that own /dev/kfd and the render nodes, and whether we may use them"),
    Probe("amd-smi-static.json", AMD_SMI + "{ amd-smi static --asic --bus --vram --driver --partition --numa --json || amd-smi static --json; } 2>&1",
          "amd-smi", "names, VRAM, partitions as ROCm sees them", timeout_seconds=10, lane="amd-smi", max_bytes=1_048_576),
    Probe("amd-smi-list.json", AMD_SMI + "{ amd-smi list -e --json || amd-smi list --json; } 2>&1",
          "amd-smi", "GPU index, bus address, HIP order", timeout_seconds=10, lane="amd-smi"),
    Probe("amd-smi-version.json", AMD_SMI + "{ amd-smi version --json || amd-smi version; } 2>&1",
          "amd-smi-version", "ROCm and driver versions", timeout_seconds=10, lane="amd-smi"),
    Probe("rocm-smi.json", ROCM_SMI + "rocm-smi --showid --showproductname --showbus --showmeminfo vram --showdriverversion --json 2>&1",
          "rocm-smi", "a further witness, and the only one on old ROCm", timeout_seconds=10, lane="amd-smi"),
    Probe("rocminfo.txt", "command -v rocminfo >/dev/null || exit 127; rocminfo 2>&1", "rocminfo",
          "HIP's order, memory pools; says why /dev/kfd does not open", timeout_seconds=10, max_bytes=1_048_576),
    Probe("amdgpu-module.txt", "cat /sys/module/amdgpu/version", "amdgpu-module", "driver version (an inbox driver has none)"),
    Probe("rocm-version.txt", "cat /opt/rocm/.info/version", "rocm-version-file", "ROCm release"),
    Probe("numa-balancing.txt", "cat /proc/sys/kernel/numa_balancing", "numa-balancing", "automatic NUMA balancing slows GPUs down"),
)
