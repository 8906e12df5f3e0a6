#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`gloo_rounds.py RANK MEMBERS ADDRESS PARAMETERS SECONDS ROUNDS`: a member of a training that sums dense fp32 updates by
Gloo's all-reduce every SECONDS of computation, which is slept. Rank 0, at ADDRESS, prints the mean seconds of a round."""
import sys
import time
from datetime import timedelta

import torch
import torch.distributed as dist


def main() -> None:
    rank, members = int(sys.argv[1]), int(sys.argv[2])
    parameters, seconds, rounds = int(sys.argv[4]), float(sys.argv[5]), int(sys.argv[6])
    torch.set_num_threads(1)
    dist.init_process_group(
        "gloo",
        init_method=f"tcp://{sys.argv[3]}:29500",
        rank=rank,
        world_size=members,
        timeout=timedelta(seconds=60 + 20 * seconds),
    )
    update = torch.zeros(parameters)
    dist.all_reduce(update)  # Connections are made.
    began = time.monotonic()
    for _ in range(rounds):
        time.sleep(seconds)
        dist.all_reduce(update)
    took = time.monotonic() - began
    dist.barrier()
    if rank == 0:
        time.sleep(2)  # The others leave first: it keeps their store.
        print(took / rounds)


main()
