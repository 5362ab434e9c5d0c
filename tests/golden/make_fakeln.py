#!/usr/bin/env python3
"""FakeLN in float64 numpy, forward and backward by hand: the golden files of tests/test_golden.c.

Written from the equations (docs/equations.md, section 5) and not from the C code, with derivatives of its own that
`check` compares with finite differences. Needs numpy.

  make_fakeln.py DIR     write the cases and trajectories into DIR
  make_fakeln.py check   compare every derivative with finite differences
"""
import json
import math
import struct
import sys
from pathlib import Path

import numpy as np

TYPES = {np.dtype(np.float64): "F64", np.dtype(np.float32): "F32", np.dtype(np.int32): "I32"}


def save(path, tensors, config):
    header, blobs, at = {"__metadata__": {"config": json.dumps(config, sort_keys=True)}}, [], 0
    for name, array in tensors.items():
        array = np.atleast_1d(array)
        header[name] = {"dtype": TYPES[array.dtype], "shape": list(array.shape),
                        "data_offsets": [at, at + array.nbytes]}
        blobs.append(np.ascontiguousarray(array).tobytes())
        at += array.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    Path(path).write_bytes(struct.pack("<Q", len(text)) + text + b"".join(blobs))


# ---------------------------------------------------------------- the model

def base(**over):
    cfg = dict(d_model=16, n_layers=2, n_heads=2, n_ctx=12, vocab=29, d_ff=64, norm="layernorm", norm_eps=1e-5,
               pos="learned", mlp="gelu_tanh", bias=True, tied=True, taper="all", method="fakeln", gate=1.0, removed=[],
               aux=False, aux_lambda=0.1, scale_target=0.7)
    cfg.update(over)
    return cfg


def blocks(cfg):
    return [f"blocks.{i}." for i in range(cfg["n_layers"])]


def sites(cfg):
    """The removable sites. value_norm is attn_norm as V sees it: a sigma of its own, the same gamma and beta."""
    inner = [b + kind for b in blocks(cfg) for kind in ("attn_norm", "value_norm", "mlp_norm")]
    return inner + (["final_norm"] if cfg["taper"] == "all" else [])


def shapes(cfg):
    d, f, v = cfg["d_model"], cfg["d_ff"], cfg["vocab"]
    out = {"tok_embed.weight": (v, d), "pos_embed.weight": (cfg["n_ctx"], d)}
    for b in blocks(cfg):
        for name, shape in (("attn.qkv", (3 * d, d)), ("attn.out", (d, d)), ("mlp.in", (f, d)), ("mlp.out", (d, f))):
            out[b + name + ".weight"] = shape
            if cfg["bias"]:
                out[b + name + ".bias"] = shape[:1]
    for site in [b + kind for b in blocks(cfg) for kind in ("attn_norm", "mlp_norm")] + ["final_norm"]:
        out[site + ".gamma"] = out[site + ".beta"] = (d,)
    if not cfg["tied"]:
        out["lm_head.weight"] = (v, d)
    return out


class Pass:
    """One forward of tokens [B,T], keeping what its backward needs. removed: site -> 1 / sigma_avg."""

    def __init__(self, params, tokens, cfg, removed):
        self.p, self.cfg, self.removed, self.tokens = params, cfg, removed, tokens
        self.kept, self.sigma, self.grads = {}, {}, {k: np.zeros_like(v) for k, v in params.items()}
        T = tokens.shape[1]
        h = params["tok_embed.weight"][tokens] + params["pos_embed.weight"][:T]
        for b in blocks(cfg):
            h = h + self.attention(b, h)
            h = h + self.mlp(b, h)
        self.hidden = h
        self.y = self.norm("final_norm", "final_norm", h)
        self.head = "tok_embed.weight" if cfg["tied"] else "lm_head.weight"
        self.logits = self.y @ params[self.head].T

    def norm(self, site, vectors, h):
        x = h - h.mean(-1, keepdims=True)
        sigma = np.sqrt((x * x).mean(-1, keepdims=True) + self.cfg["norm_eps"])
        self.sigma[site] = sigma[..., 0]
        factor = self.removed[site] if site in self.removed else 1 / sigma
        self.kept[site] = (x, sigma, factor)
        return x * factor * self.p[vectors + ".gamma"] + self.p[vectors + ".beta"]

    def norm_back(self, site, vectors, dy):
        x, sigma, factor = self.kept[site]
        self.grads[vectors + ".gamma"] += (dy * x * factor).sum((0, 1))
        self.grads[vectors + ".beta"] += dy.sum((0, 1))
        by_x = dy * self.p[vectors + ".gamma"]
        dx = by_x * factor
        if site not in self.removed:  # sigma_avg has no gradient, sigma has
            dx = dx - x * (by_x * x).mean(-1, keepdims=True) / sigma ** 3
        return dx - dx.mean(-1, keepdims=True)

    def linear(self, name, y, rows=slice(None)):
        out = y @ self.p[name + ".weight"][rows].T
        return out + self.p[name + ".bias"][rows] if self.cfg["bias"] else out

    def linear_back(self, name, y, dout, rows=slice(None)):
        self.grads[name + ".weight"][rows] += np.einsum("bto,bti->oi", dout, y)
        if self.cfg["bias"]:
            self.grads[name + ".bias"][rows] += dout.sum((0, 1))
        return dout @ self.p[name + ".weight"][rows]

    def heads(self, x):
        B, T, d = x.shape
        return x.reshape(B, T, self.cfg["n_heads"], -1).transpose(0, 2, 1, 3)

    @staticmethod
    def joined(x):
        B, H, T, D = x.shape
        return x.transpose(0, 2, 1, 3).reshape(B, T, H * D)

    def attention(self, b, h):
        d, T = self.cfg["d_model"], h.shape[1]
        y = self.norm(b + "attn_norm", b + "attn_norm", h)
        y_value = self.norm(b + "value_norm", b + "attn_norm", h)
        qk = self.linear(b + "attn.qkv", y, slice(0, 2 * d))
        q, k = self.heads(qk[..., :d]), self.heads(qk[..., d:])
        v = self.heads(self.linear(b + "attn.qkv", y_value, slice(2 * d, None)))
        scores = q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1]) + np.triu(np.full((T, T), -np.inf), 1)
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        weights /= weights.sum(-1, keepdims=True)
        mixed = self.joined(weights @ v)
        self.kept[b + "attn"] = (y, y_value, q, k, v, weights, mixed)
        return self.linear(b + "attn.out", mixed)

    def attention_back(self, b, dh):
        d = self.cfg["d_model"]
        y, y_value, q, k, v, weights, mixed = self.kept[b + "attn"]
        dmixed = self.heads(self.linear_back(b + "attn.out", mixed, dh))
        dweights, dv = dmixed @ v.swapaxes(-1, -2), weights.swapaxes(-1, -2) @ dmixed
        dscores = weights * (dweights - (dweights * weights).sum(-1, keepdims=True)) / math.sqrt(q.shape[-1])
        dq, dk = dscores @ k, dscores.swapaxes(-1, -2) @ q
        dqk = np.concatenate([self.joined(dq), self.joined(dk)], -1)
        dy = self.linear_back(b + "attn.qkv", y, dqk, slice(0, 2 * d))
        dy_value = self.linear_back(b + "attn.qkv", y_value, self.joined(dv), slice(2 * d, None))
        return self.norm_back(b + "attn_norm", b + "attn_norm", dy) + self.norm_back(b + "value_norm", b + "attn_norm",
                                                                                    dy_value)

    def mlp(self, b, h):
        y = self.norm(b + "mlp_norm", b + "mlp_norm", h)
        z = self.linear(b + "mlp.in", y)
        t = np.tanh(math.sqrt(2 / math.pi) * (z + 0.044715 * z ** 3))
        act = 0.5 * z * (1 + t)
        self.kept[b + "mlp"] = (y, z, t, act)
        return self.linear(b + "mlp.out", act)

    def mlp_back(self, b, dh):
        y, z, t, act = self.kept[b + "mlp"]
        dact = self.linear_back(b + "mlp.out", act, dh)
        slope = 0.5 * (1 + t) + 0.5 * z * (1 - t * t) * math.sqrt(2 / math.pi) * (1 + 3 * 0.044715 * z * z)
        return self.norm_back(b + "mlp_norm", b + "mlp_norm", self.linear_back(b + "mlp.in", y, dact * slope))

    def loss(self, labels, aux_on, target):
        top = self.logits.max(-1, keepdims=True)
        total = top[..., 0] + np.log(np.exp(self.logits - top).sum(-1))
        self.labels, self.target, self.aux_on = labels, target, aux_on
        self.probabilities = np.exp(self.logits - total[..., None])
        self.ce = (total - np.take_along_axis(self.logits, labels[..., None], -1)[..., 0]).mean()
        s = self.sigma["final_norm"]
        self.aux = self.cfg["aux_lambda"] * ((s - target) ** 2).mean() if aux_on else 0.0
        return self.ce + self.aux

    def backward(self):
        n = self.labels.size
        dz = self.probabilities / n
        np.put_along_axis(dz, self.labels[..., None], np.take_along_axis(dz, self.labels[..., None], -1) - 1 / n, -1)
        self.grads[self.head] += np.einsum("btv,btc->vc", dz, self.y)
        dh = self.norm_back("final_norm", "final_norm", dz @ self.p[self.head])
        self.token_gradient = dh * n
        if self.aux_on:
            x, sigma, _ = self.kept["final_norm"]
            dh = dh + 2 * self.cfg["aux_lambda"] / n * (sigma - self.target) * x / (x.shape[-1] * sigma)
        for b in reversed(blocks(self.cfg)):
            dh = dh + self.mlp_back(b, dh)
            dh = dh + self.attention_back(b, dh)
        np.add.at(self.grads["tok_embed.weight"], self.tokens, dh)
        self.grads["pos_embed.weight"][:dh.shape[1]] += dh.sum(0)


def random_parameters(cfg, rng, spread):
    out = {}
    for name, shape in shapes(cfg).items():
        value = rng.standard_normal(shape) * spread + (1 if name.endswith("gamma") else 0)
        out[name] = value.astype(np.float32).astype(np.float64)
    return out


# ---------------------------------------------------------------- one step

FIRST = ["blocks.0.mlp_norm", "blocks.1.mlp_norm", "blocks.0.attn_norm"]
INNER = [f"blocks.{i}.{kind}_norm" for i in range(2) for kind in ("attn", "value", "mlp")]
CASES = {
    "fakeln_real": base(aux=True),
    "fakeln_one": base(removed=["blocks.0.mlp_norm"]),
    "fakeln_qk": base(removed=FIRST),
    "fakeln_value": base(removed=["blocks.1.value_norm"], aux=True),
    "fakeln_internal": base(taper="internal", removed=INNER, aux=True),
    "fakeln_all": base(removed=INNER + ["final_norm"]),
    "fakeln_all_aux": base(removed=INNER + ["final_norm"], aux=True),
    "fakeln_untied": base(removed=FIRST, tied=False, bias=False),
}


def case(cfg, seed):
    rng = np.random.default_rng(seed)
    params = random_parameters(cfg, rng, 0.25)
    windows = rng.integers(0, cfg["vocab"], (3, cfg["n_ctx"] + 1)).astype(np.int32)
    c = {site: float(np.float32(rng.uniform(0.4, 1.6))) for site in sites(cfg)}
    return params, windows, c


def run_case(cfg, params, windows, c):
    run = Pass(params, windows[:, :-1], cfg, {site: c[site] for site in cfg["removed"]})
    run.loss(windows[:, 1:].astype(np.int64), cfg["aux"], cfg["scale_target"])
    run.backward()
    return run


def write_case(path, cfg, seed):
    params, windows, c = case(cfg, seed)
    run = run_case(cfg, params, windows, c)
    out = {f"param/{k}": v.astype(np.float32) for k, v in params.items()}
    out.update({f"param/{site}.c": np.full(1, v, np.float32) for site, v in c.items()})
    out["tokens"] = windows
    out.update({f"grad/{k}": v for k, v in run.grads.items()})
    unit = run.hidden / np.linalg.norm(run.hidden, axis=-1, keepdims=True)
    radial = (run.token_gradient * unit).sum(-1)
    tangential = np.linalg.norm(run.token_gradient - radial[..., None] * unit, axis=-1)
    for k, v in dict(logits=run.logits, hidden=run.hidden, ce=run.ce, aux=run.aux, loss=run.ce + run.aux,
                     radial=radial, tangential=tangential).items():
        out[f"out/{k}"] = np.asarray(v, np.float64)
    out.update({f"stat/{site}.scale": np.float64(run.sigma[site].mean()) for site in sites(cfg)})
    out["stat/scale"] = np.float64(run.sigma["final_norm"].mean())
    save(path, out, cfg)


# ---------------------------------------------------------------- a training run

TRAIN = dict(steps=24, batch=4, lr=3e-3, lr_min=3e-4, lr_warmup=5, gate_warmup=4, gate_end=20, beta1=0.9, beta2=0.999,
             adam_eps=1e-8, weight_decay=0.01, clip=1.0, ema=0.99)
FAKELN = dict(ema=0.9, mlp_start=6, mlp_gap=2, qk_start=9, qk_gap=2, v_start=12, v_gap=3, final_start=18)
TRAJECTORIES = {
    "traj_fakeln": base(),
    "traj_fakeln_aux": base(aux=True),
    "traj_fakeln_internal": base(taper="internal", aux=True),
}


def removal_step(site):
    kind, block = site.split(".")[-1], int(site.split(".")[1]) if site != "final_norm" else 0
    name = {"mlp_norm": "mlp", "attn_norm": "qk", "value_norm": "v", "final_norm": "final"}[kind]
    return FAKELN[name + "_start"] + block * FAKELN.get(name + "_gap", 0)


def learning_rate(k, t):
    if k <= t["lr_warmup"]:
        return t["lr"] * k / t["lr_warmup"]
    x = (k - t["lr_warmup"]) / (t["steps"] - t["lr_warmup"])
    return t["lr_min"] + 0.5 * (t["lr"] - t["lr_min"]) * (1 + math.cos(math.pi * x))


def update(params, moments, grads, k, t):
    norm = math.sqrt(sum(float((g * g).sum()) for g in grads.values()))
    for name, p in params.items():
        g = grads[name] * min(1.0, t["clip"] / norm)
        m, v = moments[name]
        m[:] = t["beta1"] * m + (1 - t["beta1"]) * g
        v[:] = t["beta2"] * v + (1 - t["beta2"]) * g * g
        if p.ndim >= 2:
            p *= 1 - learning_rate(k, t) * t["weight_decay"]
        p -= learning_rate(k, t) * (m / (1 - t["beta1"] ** k)) / (np.sqrt(v / (1 - t["beta2"] ** k)) + t["adam_eps"])
    return norm


def write_trajectory(path, cfg, seed):
    rng, t, decay = np.random.default_rng(seed), TRAIN, FAKELN["ema"]
    params = random_parameters(cfg, rng, 0.08)
    batches = rng.integers(0, cfg["vocab"], (t["steps"], t["batch"], cfg["n_ctx"] + 1)).astype(np.int32)
    out = {f"param/{k}": v.astype(np.float32) for k, v in params.items()}
    out["batches"] = batches
    moments = {k: (np.zeros_like(v), np.zeros_like(v)) for k, v in params.items()}
    average, removed, target = {site: 0.0 for site in sites(cfg) + ["final_norm"]}, {}, 0.0
    series = {k: [] for k in ("ce", "aux", "lr", "gate", "grad_norm", "scale")}
    for k in range(1, t["steps"] + 1):
        for site in sites(cfg):
            if k == removal_step(site):  # at the start of the step, from the forwards before it
                removed[site] = 1 / (average[site] / (1 - decay ** (k - 1)))
        run = Pass(params, batches[k - 1][:, :-1], cfg, removed)
        run.loss(batches[k - 1][:, 1:].astype(np.int64), cfg["aux"] and k > t["gate_warmup"], target)
        run.backward()
        norm = update(params, moments, run.grads, k, t)
        for site in average:
            average[site] = decay * average[site] + (1 - decay) * float(run.sigma[site].mean())
        if k == t["gate_warmup"]:
            target = average["final_norm"] / (1 - decay ** k)
        for name, value in dict(ce=run.ce, aux=run.aux, lr=learning_rate(k, t), grad_norm=norm,
                                gate=1 - len(removed) / len(sites(cfg)), scale=run.sigma["final_norm"].mean()).items():
            series[name].append(float(value))
    out.update({f"traj/{k}": np.array(v) for k, v in series.items()})
    out["traj/scale_target"] = np.float64(target)
    out.update({f"final/{k}": v for k, v in params.items()})
    out.update({f"final/{site}.c": np.array([v]) for site, v in removed.items()})
    save(path, out, {**cfg, "train": TRAIN, "fakeln": FAKELN})


# ---------------------------------------------------------------- command line

def check(step=1e-6):
    worst = 0.0
    for n, (name, cfg) in enumerate(CASES.items()):
        params, windows, c = case(cfg, SEED + n)
        run, rng = run_case(cfg, params, windows, c), np.random.default_rng(1)
        for key, value in params.items():
            direction, ends = rng.standard_normal(value.shape), []
            for sign in (1, -1):
                moved = {**params, key: value + sign * step * direction}
                moved_run = Pass(moved, windows[:, :-1], cfg, run.removed)
                ends.append(moved_run.loss(windows[:, 1:].astype(np.int64), cfg["aux"], cfg["scale_target"]))
            found, wanted = float((run.grads[key] * direction).sum()), (ends[0] - ends[1]) / (2 * step)
            error = abs(found - wanted) / max(abs(wanted), 1e-3)
            worst = max(worst, error)
            if error > 1e-5:
                sys.exit(f"{name}: {key}: derivative {found:.10g}, finite differences {wanted:.10g}")
    print(f"{len(CASES)} cases: derivatives agree with finite differences, worst {worst:.1e}")


SEED = 20251203

if __name__ == "__main__":
    if sys.argv[1:] == ["check"]:
        check()
    elif len(sys.argv) == 2 and not sys.argv[1].startswith("-"):
        for n, (name, cfg) in enumerate(CASES.items()):
            write_case(Path(sys.argv[1]) / f"{name}.safetensors", cfg, SEED + n)
        for n, (name, cfg) in enumerate(TRAJECTORIES.items()):
            write_trajectory(Path(sys.argv[1]) / f"{name}.safetensors", cfg, SEED + 100 + n)
    else:
        sys.exit(__doc__)
