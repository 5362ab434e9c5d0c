#!/usr/bin/env python3
"""Golden folders of tests/test_interop.c: small random models as Hugging Face loaders lay them out, and their logits.

An independent implementation by the published architectures of GPT-2 and Llama, in float64 NumPy. It shares nothing
with the program. The test never runs this; run it by hand (python3 make_interop.py) to make tests/golden/interop anew.
"""
import json
import math
import os
import struct

import numpy as np

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "interop")
V, D, H, L, T = 67, 16, 2, 2, 12


def to_bytes(x, kind):
    x = np.ascontiguousarray(x)
    if kind == "F32":
        return x.astype("<f4").tobytes()
    if kind == "F16":
        return x.astype("<f2").tobytes()
    if kind == "F64":
        return x.astype("<f8").tobytes()
    if kind == "BOOL":
        return x.astype("u1").tobytes()
    if kind == "I64":
        return x.astype("<i8").tobytes()
    if kind == "BF16":
        return (x.astype("<f4").view("<u4") >> 16).astype("<u2").tobytes()
    raise ValueError(kind)


def rounded(x, kind):
    """The float64 value that a tensor of this type holds."""
    if kind == "F32":
        return x.astype("<f4").astype("f8")
    if kind == "F16":
        return x.astype("<f2").astype("f8")
    if kind == "BF16":
        return (x.astype("<f4").view("<u4") & np.uint32(0xFFFF0000)).view("<f4").astype("f8")
    return x


def write(path, tensors):
    header, body = {"__metadata__": {"format": "pt"}}, b""
    for name, (x, kind) in tensors.items():
        raw = to_bytes(x, kind)
        header[name] = {"dtype": kind, "shape": list(x.shape), "data_offsets": [len(body), len(body) + len(raw)]}
        body += raw
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + body)


def softmax(s):
    e = np.exp(s - s.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def attend(q, k, v, heads):
    """Causal attention of one sequence, q k v [T, D]."""
    t, d = q.shape
    out = np.zeros_like(q)
    for h in range(heads):
        part = slice(h * d // heads, (h + 1) * d // heads)
        s = q[:, part] @ k[:, part].T / math.sqrt(d // heads)
        s[np.triu_indices(t, 1)] = -np.inf
        out[:, part] = softmax(s) @ v[:, part]
    return out


def gpt2(cfg, w, tokens):
    def norm(x, name):
        m = x.mean(-1, keepdims=True)
        var = ((x - m) ** 2).mean(-1, keepdims=True)
        return (x - m) / np.sqrt(var + cfg["layer_norm_epsilon"]) * w[name + ".weight"] + w[name + ".bias"]

    def conv1d(x, name):
        return x @ w[name + ".weight"] + w[name + ".bias"]

    def act(x):
        if cfg["activation_function"] == "gelu":
            return x * 0.5 * (1 + np.vectorize(math.erf)(x / math.sqrt(2)))
        return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))

    x = w["wte.weight"][tokens] + w["wpe.weight"][: len(tokens)]
    for i in range(cfg["n_layer"]):
        p = f"h.{i}."
        q, k, v = np.split(conv1d(norm(x, p + "ln_1"), p + "attn.c_attn"), 3, axis=-1)
        x = x + conv1d(attend(q, k, v, cfg["n_head"]), p + "attn.c_proj")
        x = x + conv1d(act(conv1d(norm(x, p + "ln_2"), p + "mlp.c_fc")), p + "mlp.c_proj")
    return norm(x, "ln_f") @ w["wte.weight"].T


def llama3(frequency, s):
    """As the authors published it: by wavelengths."""
    wavelength = 2 * math.pi / frequency
    shortest = s["original_max_position_embeddings"] / s["high_freq_factor"]
    longest = s["original_max_position_embeddings"] / s["low_freq_factor"]
    if wavelength < shortest:
        return frequency
    if wavelength > longest:
        return frequency / s["factor"]
    smooth = (s["original_max_position_embeddings"] / wavelength - s["low_freq_factor"]) / (s["high_freq_factor"] - s["low_freq_factor"])
    return (1 - smooth) * frequency / s["factor"] + smooth * frequency


def llama(cfg, w, tokens):
    def norm(x, name):
        return x / np.sqrt((x**2).mean(-1, keepdims=True) + cfg["rms_norm_eps"]) * w[name]

    def linear(x, name):
        y = x @ w[name + ".weight"].T
        return y + w[name + ".bias"] if name + ".bias" in w else y

    d_head = cfg.get("head_dim", cfg["hidden_size"] // cfg["num_attention_heads"])
    scaling = cfg.get("rope_scaling") or cfg.get("rope_parameters") or {}
    theta = cfg["rope_theta"] if "rope_theta" in cfg else cfg["rope_parameters"]["rope_theta"]

    def rotary(x):
        heads, d = x.shape[1] // d_head, d_head
        x = x.reshape(len(x), heads, d)
        frequency = theta ** (-np.arange(0, d, 2) / d)
        if scaling.get("rope_type") == "linear":
            frequency = frequency / scaling["factor"]
        if scaling.get("rope_type") == "llama3":
            frequency = np.array([llama3(f, scaling) for f in frequency])
        angle = np.arange(len(x))[:, None] * frequency
        cos, sin = (np.concatenate([f(angle), f(angle)], -1)[:, None] for f in (np.cos, np.sin))
        half = np.concatenate([-x[..., d // 2 :], x[..., : d // 2]], -1)
        return (x * cos + half * sin).reshape(len(x), -1)

    def shared(x):
        """One key or value for every query of its group."""
        groups = cfg["num_attention_heads"] // cfg["num_key_value_heads"]
        return np.repeat(x.reshape(len(x), -1, d_head), groups, axis=1).reshape(len(x), -1)

    x = w["model.embed_tokens.weight"][tokens]
    for i in range(cfg["num_hidden_layers"]):
        p = f"model.layers.{i}."
        y = norm(x, p + "input_layernorm.weight")
        q, k, v = (linear(y, p + f"self_attn.{n}_proj") for n in "qkv")
        x = x + linear(attend(rotary(q), shared(rotary(k)), shared(v), cfg["num_attention_heads"]), p + "self_attn.o_proj")
        y = norm(x, p + "post_attention_layernorm.weight")
        gate = linear(y, p + "mlp.gate_proj")
        x = x + linear(gate / (1 + np.exp(-gate)) * linear(y, p + "mlp.up_proj"), p + "mlp.down_proj")
    head = "model.embed_tokens.weight" if cfg["tie_word_embeddings"] else "lm_head.weight"
    return norm(x, "model.norm.weight") @ w[head].T


def random(rng, *shape, mean=0.0, std=0.25):
    return mean + std * rng.standard_normal(shape)


def gpt2_weights(rng, inner, gain):
    w = {"wte.weight": random(rng, V, D), "wpe.weight": random(rng, T, D)}
    for i in range(L):
        p = f"h.{i}."
        for name, rows, columns in (("attn.c_attn", D, 3 * D), ("attn.c_proj", D, D), ("mlp.c_fc", D, inner), ("mlp.c_proj", inner, D)):
            w[p + name + ".weight"] = random(rng, rows, columns)
            w[p + name + ".bias"] = random(rng, columns)
        for name in ("ln_1", "ln_2"):
            w[p + name + ".weight"] = gain * random(rng, D, mean=1.0)
            w[p + name + ".bias"] = random(rng, D)
    w["ln_f.weight"], w["ln_f.bias"] = gain * random(rng, D, mean=1.0), random(rng, D)
    return w


def llama_weights(rng, inner, gain, attention_bias, tied, shared=D, wide=D):
    w = {"model.embed_tokens.weight": random(rng, V, D), "model.norm.weight": gain * random(rng, D, mean=1.0)}
    for i in range(L):
        p = f"model.layers.{i}."
        for name, rows, columns in (("self_attn.q_proj", wide, D), ("self_attn.k_proj", shared, D), ("self_attn.v_proj", shared, D),
                                    ("self_attn.o_proj", D, wide), ("mlp.gate_proj", inner, D), ("mlp.up_proj", inner, D),
                                    ("mlp.down_proj", D, inner)):
            w[p + name + ".weight"] = random(rng, rows, columns)
            if attention_bias and "self_attn" in name:
                w[p + name + ".bias"] = random(rng, rows)
        for name in ("input_layernorm", "post_attention_layernorm"):
            w[p + name + ".weight"] = gain * random(rng, D, mean=1.0)
    if not tied:
        w["lm_head.weight"] = random(rng, V, D)
    return w


def case(name, seed, cfg, make, forward, kind, extra=None, rename=lambda n: n, shards=1):
    rng = np.random.default_rng(seed)
    folder = os.path.join(HERE, name)
    os.makedirs(folder, exist_ok=True)
    w = {n: rounded(x, kind) for n, x in make(rng).items()}
    tokens = rng.integers(0, V, (2, T))
    logits = np.stack([forward(cfg, w, row) for row in tokens])
    files = {rename(n): (x, kind) for n, x in w.items()}
    files.update(extra or {})
    if shards == 1:
        write(os.path.join(folder, "model.safetensors"), files)
    else:
        names, weight_map = list(files), {}
        for s in range(shards):
            part = {n: files[n] for n in names[s::shards]}
            file = f"model-{s + 1:05d}-of-{shards:05d}.safetensors"
            write(os.path.join(folder, file), part)
            weight_map.update({n: file for n in part})
        with open(os.path.join(folder, "model.safetensors.index.json"), "w") as f:
            json.dump({"metadata": {}, "weight_map": weight_map}, f, indent=1)
    with open(os.path.join(folder, "config.json"), "w") as f:
        json.dump(cfg, f, indent=1)
    write(os.path.join(folder, "golden.safetensors"), {"tokens": (tokens, "I64"), "logits": (logits, "F64")})


def main():
    gpt = {"architectures": ["GPT2LMHeadModel"], "model_type": "gpt2", "n_embd": D, "n_layer": L, "n_head": H, "n_positions": T,
           "n_ctx": T, "vocab_size": V, "activation_function": "gelu_new", "layer_norm_epsilon": 1e-5}
    mask = {f"h.{i}.attn.bias": (np.tril(np.ones((1, 1, T, T))), "F32") for i in range(L)}
    # As the small model was published: no prefix, causal masks among the tensors.
    case("gpt2_published", 1, gpt, lambda r: gpt2_weights(r, 4 * D, 1.0), gpt2, "F32", extra=mask)
    # Without normalization by the published trick; another activation and width of the MLP.
    case("gpt2_affine", 2, dict(gpt, layer_norm_epsilon=1e12, activation_function="gelu", n_inner=24),
         lambda r: gpt2_weights(r, 24, 1e6), gpt2, "F32", rename=lambda n: "transformer." + n)
    lla = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": D, "num_hidden_layers": L,
           "num_attention_heads": H, "num_key_value_heads": H, "max_position_embeddings": T, "intermediate_size": 24,
           "vocab_size": V, "hidden_act": "silu", "rms_norm_eps": 1e-6, "rope_theta": 500.0, "rope_scaling": None,
           "attention_bias": False, "mlp_bias": False, "tie_word_embeddings": False}
    case("llama_sharded", 3, dict(lla, attention_bias=True), lambda r: llama_weights(r, 24, 1.0, True, False), llama, "BF16", shards=3)
    case("llama_half", 4, dict(lla, tie_word_embeddings=True), lambda r: llama_weights(r, 24, 1.0, False, True), llama, "F16")
    case("llama_affine", 5, dict(lla, rms_norm_eps=1e12), lambda r: llama_weights(r, 24, 1e6, False, False), llama, "F32")
    # Two queries a key, and the base of the angles where newer files have it.
    grouped = dict(lla, num_attention_heads=4, num_key_value_heads=2, attention_bias=True, rms_norm_eps=1e-5,
                   rope_parameters={"rope_type": "default", "rope_theta": 700.0})
    del grouped["rope_theta"], grouped["rope_scaling"]
    case("llama_grouped", 6, grouped, lambda r: llama_weights(r, 24, 1.0, True, False, shared=D // 2), llama, "F32")
    # A Qwen2: biases of q, k and v only; masks of a type that has no number here.
    qwen = dict(lla, model_type="qwen2", architectures=["Qwen2ForCausalLM"], num_attention_heads=4, num_key_value_heads=2,
                use_sliding_window=False, sliding_window=4, hidden_act="swish", rope_theta=1000.0)
    del qwen["attention_bias"], qwen["mlp_bias"]

    def qwen_weights(r):
        w = llama_weights(r, 24, 1.0, True, False, shared=D // 2)
        return {n: x for n, x in w.items() if not n.endswith("o_proj.bias")}
    case("qwen2", 7, qwen, qwen_weights, llama, "F32", extra={"model.rotary_emb.inv_freq": (np.ones(2), "BOOL")})

    # Heads wider, and narrower, than the model divided by them; angles scaled in both ways. Eight pairs a head,
    # so that each of Llama 3's three kinds of waves is there.
    long = dict(lla, head_dim=16, rope_theta=30.0, rope_scaling={
        "rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
        "original_max_position_embeddings": 40})
    case("llama_long", 8, long, lambda r: llama_weights(r, 24, 1.0, False, False, shared=32, wide=32), llama, "F32")
    linear = dict(lla, tie_word_embeddings=True, head_dim=4, rope_scaling={"rope_type": "linear", "factor": 2.5})
    case("llama_linear", 9, linear, lambda r: llama_weights(r, 24, 1.0, False, True, shared=8, wide=8), llama, "F32")


if __name__ == "__main__":
    main()
