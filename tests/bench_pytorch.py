#!/usr/bin/env python3
"""The training step of bench_step.c (baseline, presets 1M and 9M) in PyTorch, for comparison on the same machine.

bench_pytorch.py [THREADS]   time and processor time of a step, the best of several. Plain PyTorch as its tutorials
write it: RMSNorm, causal attention by a masked softmax, GELU, tied head, AdamW, clipping; no statistics of the logits.
OPENBLAS_CORETYPE tells its BLAS which kernels to take, where it does not know the processor.
"""
import math
import os
import sys
import time

try:
    import torch
    from torch import nn
    from torch.nn import functional as F
except ImportError:
    print("bench_pytorch: skipped: no PyTorch (Debian: python3-torch)")
    sys.exit(0)

BATCH, CONTEXT, VOCAB, LAYERS, HEAD = 4, 512, 10000, 8, 32


class Norm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.gamma = nn.Parameter(torch.ones(width))

    def forward(self, h):
        return h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + 1e-6) * self.gamma


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norms = nn.ModuleList([Norm(width), Norm(width)])
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.out = nn.Linear(width, width, bias=False)
        self.up = nn.Linear(width, 4 * width, bias=False)
        self.down = nn.Linear(4 * width, width, bias=False)
        self.register_buffer("hidden", torch.ones(CONTEXT, CONTEXT, dtype=torch.bool).triu(1), persistent=False)

    def attention(self, x):
        batch, length, width = x.shape
        q, k, v = (part.view(batch, length, -1, HEAD).transpose(1, 2) for part in self.qkv(x).chunk(3, -1))
        scores = (q @ k.transpose(-2, -1)) / math.sqrt(HEAD)
        p = scores.masked_fill(self.hidden[:length, :length], -math.inf).softmax(-1)
        return self.out((p @ v).transpose(1, 2).reshape(batch, length, width))

    def forward(self, h):
        h = h + self.attention(self.norms[0](h))
        return h + self.down(F.gelu(self.up(self.norms[1](h))))


class Model(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.tokens = nn.Embedding(VOCAB, width)
        self.positions = nn.Embedding(CONTEXT, width)
        self.blocks = nn.ModuleList(Block(width) for _ in range(LAYERS))
        self.norm = Norm(width)
        for parameter in self.parameters():
            if parameter.dim() > 1:
                nn.init.normal_(parameter, std=0.02)

    def forward(self, tokens, targets):
        h = self.tokens(tokens) + self.positions.weight
        for block in self.blocks:
            h = block(h)
        logits = self.norm(h) @ self.tokens.weight.T
        return F.cross_entropy(logits.view(-1, VOCAB), targets.reshape(-1))


def measure(width, steps):
    torch.manual_seed(1)
    model = Model(width)
    optimizer = torch.optim.AdamW(model.parameters(), lr=6e-4, betas=(0.9, 0.95), weight_decay=0.1)
    tokens = torch.randint(VOCAB, (BATCH, CONTEXT + 1))
    wall, processor = [], []
    for _ in range(steps + 1):
        began = time.perf_counter(), time.process_time()
        loss = model(tokens[:, :-1], tokens[:, 1:])
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        wall.append(time.perf_counter() - began[0])
        processor.append(time.process_time() - began[1])
    return min(wall[1:]), min(processor[1:])


def main():
    threads = int(sys.argv[1]) if len(sys.argv) > 1 else len(os.sched_getaffinity(0))
    torch.set_num_threads(threads)
    print(f"PyTorch {torch.__version__}, {threads} threads, OPENBLAS_CORETYPE={os.environ.get('OPENBLAS_CORETYPE', '')}")
    for size, width, steps in (("1M", 64, 4), ("9M", 256, 3)):
        wall, processor = measure(width, steps)
        print(f"{size:<4} {1e3 * wall:9.1f} ms a step, {BATCH * CONTEXT / wall:8.0f} tokens/s, {1e3 * processor:9.1f} ms of processor time")


if __name__ == "__main__":
    main()
