# SPDX-License-Identifier: MIT
# `newest_torch.py gpt|cnn|cnn-channels-last eager|compiled`: trains the models of bench_train with the newest PyTorch,
# fp32, on all cores, with its own oneDNN and MKL. It reads the commands of torch_train.cpp, and "version".
import sys
import time

import torch
from torch import nn
from torch.nn import functional as F

# Those of tests/bench/train_models.hpp.
LAYERS, WIDTH, HEADS, TOKENS, VOCABULARY, BATCH = 6, 384, 6, 256, 256, 16
SIDE, CLASSES, IMAGES = 28, 10, 128
LEARNING_RATE, WEIGHT_DECAY = 1e-3, 0.01


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        b, t, _ = x.shape
        q, k, v = (part.view(b, t, HEADS, -1).transpose(1, 2) for part in self.qkv(self.norm1(x)).chunk(3, dim=-1))
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(b, t, WIDTH)
        x = x + self.out(mixed)
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Gpt(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens, self.places = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(TOKENS, WIDTH)
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, VOCABULARY, bias=False)

    def forward(self, x):
        y = self.tokens(x) + self.places.weight
        for layer in self.layers:
            y = layer(y)
        return self.head(self.norm(y)).view(-1, VOCABULARY)


class Cnn(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, 6, 5, padding=2), nn.Conv2d(6, 16, 5)
        self.fc1, self.fc2, self.fc3 = nn.Linear(400, 120), nn.Linear(120, 84), nn.Linear(84, CLASSES)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2).flatten(1)
        return self.fc3(F.relu(self.fc2(F.relu(self.fc1(x)))))


def memory(field):
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith(field + ":"))


def main(name, form):
    torch.manual_seed(1)
    torch.relu(torch.ones(64, 64) @ torch.ones(64, 64))  # starts the libraries' threads
    before = memory("VmRSS")
    if name == "gpt":
        model, x = Gpt(), torch.randint(VOCABULARY, (BATCH, TOKENS))
        y = x.view(-1).roll(-1)
    else:
        model, x, y = Cnn(), torch.rand(IMAGES, 1, SIDE, SIDE), torch.randint(CLASSES, (IMAGES,))
        if name == "cnn-channels-last":
            model, x = model.to(memory_format=torch.channels_last), x.to(memory_format=torch.channels_last)
    optimizer = torch.optim.AdamW(model.parameters(), lr=LEARNING_RATE, weight_decay=WEIGHT_DECAY, fused=True)
    run = torch.compile(model) if form == "compiled" else model
    for line in sys.stdin:
        command = line.split()
        if command[0] == "memory":
            print(memory("VmHWM") - before, flush=True)
        elif command[0] == "version":
            print(torch.__version__, flush=True)
        else:
            begin = time.monotonic()
            for _ in range(int(command[1])):
                optimizer.zero_grad(set_to_none=True)
                F.cross_entropy(run(x), y).backward()
                optimizer.step()
            print(time.monotonic() - begin, flush=True)


main(*sys.argv[1:])
