#!/usr/bin/env python3
"""Writes the ONNX file that an exporter would write for Relu(pairs(swish(scale(x)))), operators of scale.c, in protobuf's wire format.

    python3 tests/plugins/plugged_onnx.py > plugged.onnx
"""

import struct
import sys

def varint(value):
    return bytes([value]) if value < 128 else bytes([value & 127 | 128]) + varint(value >> 7)
def part(number, content):  # a text, or messages
    content = content.encode() if isinstance(content, str) else content
    return varint(number << 3 | 2) + varint(len(content)) + content
def integer(number, value):
    return varint(number << 3) + varint(value)
def node(operator, reads, writes, domain="own", attribute=b""):
    return part(1, part(1, reads) + part(2, writes) + part(3, operator + "_node") + part(4, operator) + attribute + part(7, domain))
def port(number, name, dims):
    tensor = integer(1, 1) + (part(2, b"".join(part(1, dim) for dim in dims)) if dims else b"")
    return part(number, part(1, name) + part(2, part(1, tensor)))
def opset(domain, version):
    return part(8, part(1, domain) + integer(2, version))
factor = part(5, part(1, "factor") + varint(2 << 3 | 5) + struct.pack("<f", 3) + integer(20, 1))
graph = (node("scale", "x", "scaled", attribute=factor) + node("swish", "scaled", "swished") + node("pairs", "swished", "paired") +
         node("Relu", "paired", "y", domain="") + part(2, "plugged") + port(11, "x", [part(2, "N"), integer(1, 4)]) + port(12, "y", []))
sys.stdout.buffer.write(integer(1, 8) + part(7, graph) + opset("", 17) + opset("own", 1))
