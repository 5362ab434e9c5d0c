#!/usr/bin/env python3
"""The loss of an exported GPT-2 by another program than ours: the mean cross-entropy, in nats, of a token file's ids.

    gpt2_forward.py plain|transformers FOLDER TOKENS

plain: GPT-2's forward by its published architecture, in Python's own double precision, with nothing but the standard
library. transformers: as Hugging Face's loader has it, with torch or flax; exit status 77 where these are not installed.
TOKENS as `taper data encode` writes it (docs/formats.md).
"""
import json
import math
import os
import struct
import sys
from operator import mul


def read_ids(path):
    with open(path, "rb") as f:
        raw = f.read()
    assert raw[:8] == b"TAPERTOK", path
    width, count = struct.unpack("<IQ", raw[12:24])
    return list(struct.unpack(f"<{count}{'H' if width == 2 else 'I'}", raw[128:]))


def read_tensors(path):
    with open(path, "rb") as f:
        raw = f.read()
    (size,) = struct.unpack("<Q", raw[:8])
    tensors = {}
    for name, t in json.loads(raw[8 : 8 + size]).items():
        if name == "__metadata__":
            continue
        assert t["dtype"] == "F32", (name, t["dtype"])
        low, high = t["data_offsets"]
        flat = struct.unpack(f"<{(high - low) // 4}f", raw[8 + size + low : 8 + size + high])
        columns = t["shape"][-1]
        rows = [flat[i : i + columns] for i in range(0, len(flat), columns)]
        tensors[name.removeprefix("transformer.")] = rows if len(t["shape"]) == 2 else flat
    return tensors


def dot(a, b):
    return sum(map(mul, a, b))


def norm(x, gain, shift, eps):
    mean = math.fsum(x) / len(x)
    root = math.sqrt(math.fsum((v - mean) ** 2 for v in x) / len(x) + eps)
    return [(v - mean) / root * g + b for v, g, b in zip(x, gain, shift)]


def affine(x, weight, bias):
    """weight [in][out], as GPT-2's Conv1D has it."""
    return [dot(x, column) + b for column, b in zip(zip(*weight), bias)]


def gelu_new(x):
    return 0.5 * x * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def softmax(scores):
    most = max(scores)
    e = [math.exp(s - most) for s in scores]
    return [v / math.fsum(e) for v in e]


def attention(rows, heads):
    d = len(rows[0]) // 3
    width, out = d // heads, []
    for t, row in enumerate(rows):
        mixed = []
        for h in range(heads):
            q = row[h * width : (h + 1) * width]
            keys = [r[d + h * width : d + (h + 1) * width] for r in rows[: t + 1]]
            values = [r[2 * d + h * width : 2 * d + (h + 1) * width] for r in rows[: t + 1]]
            p = softmax([dot(q, k) / math.sqrt(width) for k in keys])
            mixed += [dot(p, column) for column in zip(*values)]
        out.append(mixed)
    return out


def mean_loss(rows, targets):
    loss = 0.0
    for logits, target in zip(rows, targets):
        most = max(logits)
        loss += most + math.log(math.fsum(math.exp(z - most) for z in logits)) - logits[target]
    return loss / len(targets)


def plain(folder, ids):
    with open(os.path.join(folder, "config.json")) as f:
        config = json.load(f)
    assert config["model_type"] == "gpt2" and config["activation_function"] == "gelu_new", config
    w = read_tensors(os.path.join(folder, "model.safetensors"))
    eps, heads = config["layer_norm_epsilon"], config["n_head"]
    stream = [[a + b for a, b in zip(w["wte.weight"][t], w["wpe.weight"][i])] for i, t in enumerate(ids[:-1])]
    for layer in range(config["n_layer"]):
        at = f"h.{layer}."

        def normed(name):
            return [norm(x, w[at + name + ".weight"], w[at + name + ".bias"], eps) for x in stream]

        def linear(name, rows):
            return [affine(x, w[at + name + ".weight"], w[at + name + ".bias"]) for x in rows]

        def add(rows):
            return [[a + b for a, b in zip(x, y)] for x, y in zip(stream, rows)]

        stream = add(linear("attn.c_proj", attention(linear("attn.c_attn", normed("ln_1")), heads)))
        hidden = [[gelu_new(v) for v in x] for x in linear("mlp.c_fc", normed("ln_2"))]
        stream = add(linear("mlp.c_proj", hidden))
    head = w.get("lm_head.weight", w["wte.weight"])
    stream = [norm(x, w["ln_f.weight"], w["ln_f.bias"], eps) for x in stream]
    return mean_loss([[dot(x, row) for row in head] for x in stream], ids[1:])


def by_torch(folder, ids):
    import torch
    from transformers import GPT2LMHeadModel

    model = GPT2LMHeadModel.from_pretrained(folder, torch_dtype=torch.float32).eval()
    with torch.no_grad():
        return model(torch.tensor([ids])).logits[0].double().tolist()


def by_flax(folder, ids):
    import numpy
    from transformers import FlaxGPT2LMHeadModel

    model = FlaxGPT2LMHeadModel.from_pretrained(folder)
    return numpy.asarray(model(numpy.array([ids])).logits, dtype="f8")[0].tolist()


def with_transformers(folder, ids):
    import importlib.util as installed

    has = {name: installed.find_spec(name) is not None for name in ("transformers", "torch", "flax")}
    if not has["transformers"] or not (has["torch"] or has["flax"]):
        print("want transformers, and torch or flax", file=sys.stderr)
        sys.exit(77)
    return mean_loss((by_torch if has["torch"] else by_flax)(folder, ids[:-1]), ids[1:])


if __name__ == "__main__":
    how = {"plain": plain, "transformers": with_transformers}[sys.argv[1]]
    print(f"{how(sys.argv[2], read_ids(sys.argv[3])):.7f}")
