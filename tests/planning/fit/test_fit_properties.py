"""What must hold for every model: more memory never fits less, longer never needs less, more ranks never ask more of one, lines add up."""
from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from planning.fit import capacity, weights_per_rank
from planning.fit.budget import activation_bytes, cpu_lines, gpu_lines, required_bytes
from planning.fit.cpu_budget import default_kv_bytes
from planning.units import GIB
from tests.planning.fit.recorded import config_of, rows

NAMES = sorted({row.model for row in rows()})
VERSIONS = ("0.22.0", "0.25.1", "0.26.0", "0.28.0", "0.29.0", "0.31.0", "0.32.0", "0.33.0")
models, versions, devices = st.sampled_from(NAMES), st.sampled_from(VERSIONS), st.sampled_from(("cpu", "rocm"))
sizes, lengths = st.integers(1, 512), st.integers(1, 1 << 18)
quick = settings(max_examples=60, deadline=None)


def of(name, gib, length, **more):
    return capacity(config_of(name), kv_cache_bytes=gib * GIB, max_model_len=length, quantization="none", **more)


@quick
@given(models, versions, devices, lengths, sizes, sizes)
def test_more_memory_never_fits_less(name, version, device, length, one, other):
    small, large = sorted((one, other))
    less, more = (of(name, gib, length, vllm_version=version, device=device) for gib in (small, large))
    if less.kv_cache_num_blocks is not None:
        assert more.kv_cache_num_blocks >= less.kv_cache_num_blocks
        assert more.max_concurrency >= less.max_concurrency
        assert more.estimated_max_model_len >= less.estimated_max_model_len


@quick
@given(models, versions, devices, lengths, lengths)
def test_a_longer_context_never_needs_less(name, version, device, one, other):
    short, long = sorted((one, other))
    less, more = (of(name, 64, length, vllm_version=version, device=device) for length in (short, long))
    if less.one_request_bytes is not None:
        assert more.one_request_bytes >= less.one_request_bytes
        assert more.max_concurrency <= less.max_concurrency


@quick
@given(models, versions, devices, st.sampled_from((1, 2, 4)))
def test_more_ranks_never_ask_more_of_one(name, version, device, ranks):
    few, many = (of(name, 64, 4096, vllm_version=version, device=device, tensor_parallel_size=tp, max_num_batched_tokens=2048) for tp in (ranks, 2 * ranks))
    if few.one_request_bytes is not None and many.one_request_bytes is not None:
        assert many.kv_bytes_per_token_per_rank <= few.kv_bytes_per_token_per_rank
    assert many.weights_bytes_per_rank <= few.weights_bytes_per_rank


@quick
@given(models, versions, devices, lengths, sizes)
def test_the_estimated_length_fits_and_the_next_does_not(name, version, device, length, gib):
    found = of(name, gib, length, vllm_version=version, device=device)
    longest = found.estimated_max_model_len
    if not longest:
        return
    pinned = {"vllm_version": version, "device": device, "max_num_batched_tokens": found.max_num_batched_tokens}
    assert of(name, gib, longest, **pinned).one_request_bytes <= gib * GIB
    if longest < length:
        assert of(name, gib, length, **pinned).one_request_bytes > gib * GIB


@quick
@given(models, st.integers(0, 1 << 40), st.integers(0, 1 << 40), st.integers(1, 8), st.booleans())
def test_lines_add_up(name, weights, cache, ranks, eager):
    active = activation_bytes(config_of(name), max_num_batched_tokens=2048, max_num_seqs=128, tensor_parallel_size=1)
    for lines in (cpu_lines(weights_bytes=weights, kv_cache_bytes=cache, activation_bytes=active, ranks=ranks),
                  gpu_lines(weights_bytes=weights, kv_cache_bytes=cache, activation_bytes=active, enforce_eager=eager)):
        assert required_bytes(lines) == sum(line.bytes for line in lines) >= weights + cache + active
        assert all(isinstance(line.bytes, int) and line.bytes >= 0 for line in lines)
        assert len({line.name for line in lines}) == len(lines)


@quick
@given(st.integers(0, 1 << 42), st.integers(0, 1 << 42))
def test_more_ram_never_gives_a_smaller_kv_space(one, other):
    small, large = sorted((one, other))
    assert default_kv_bytes(small) >= GIB
    if not small <= 32 * GIB < large:           # the procedure itself steps down there
        assert default_kv_bytes(small) <= default_kv_bytes(large)
    assert default_kv_bytes(large) % GIB == 0


def test_weights_of_all_ranks_hold_at_least_the_model():
    for name in NAMES:
        if of(name, 64, 128, device="rocm", tensor_parallel_size=8).refusals:
            continue
        alone = weights_per_rank(config_of(name), quantization="none").bytes_per_rank
        assert 8 * weights_per_rank(config_of(name), tensor_parallel_size=8, quantization="none").bytes_per_rank >= alone
