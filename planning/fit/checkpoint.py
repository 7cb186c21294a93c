from __future__ import annotations


def bytes_from_headers(tensors, element, config):
    return tensors.get("total_bytes")
