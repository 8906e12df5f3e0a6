#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""check.py FOLDER: model.pt opens with torch.jit.load, runs, and holds the tensors of model.safetensors.

The safetensors file is read by the few lines that its format takes, not by Retrace.
"""
import json
import struct
import sys

import torch


def read_safetensors(path):
    with open(path, "rb") as file:
        content = file.read()
    (length,) = struct.unpack("<Q", content[:8])
    header, body = json.loads(content[8:8 + length]), content[8 + length:]
    header.pop("__metadata__", None)
    out = {}
    for name, entry in header.items():
        assert entry["dtype"] == "F32", entry
        first, last = entry["data_offsets"]
        numbers = struct.unpack(f"<{(last - first) // 4}f", body[first:last])
        out[name] = torch.tensor(numbers).reshape(entry["shape"])
    return out


def main(folder):
    model = torch.jit.load(folder + "/model.pt")
    tensors = read_safetensors(folder + "/model.safetensors")
    state = model.state_dict()
    assert tensors, "there are no tensors"
    for name, tensor in tensors.items():
        assert torch.equal(state[name], tensor), name
    missing = [name for name in state if name not in tensors and not name.endswith("num_batches_tracked")]
    assert not missing, missing
    y = model.eval()(torch.zeros(2, 1, 8, 8))
    assert y.shape == (2, 5) and bool(torch.isfinite(y).all()), y


if __name__ == "__main__":
    main(sys.argv[1])
