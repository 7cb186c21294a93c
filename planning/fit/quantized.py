from __future__ import annotations


def packed_bytes(quant, packed, plain, element):
    return packed + plain * element
