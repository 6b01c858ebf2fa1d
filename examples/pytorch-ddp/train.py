"""A small network learns y = 3x - 1 with DistributedDataParallel; each rank has its own part of the data.

The pytorch plugin sets MASTER_ADDR, MASTER_PORT, WORLD_SIZE and RANK; init_process_group() reads them.
"""
import os
import platform

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

STEPS = int(os.environ.get("STEPS", "200"))


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank, size = dist.get_rank(), dist.get_world_size()

    ranks = torch.tensor([float(rank)])
    dist.all_reduce(ranks)
    print(f"rank {rank} of {size} on {platform.node()}: the ranks add up to {ranks.item():.0f}", flush=True)

    x = torch.linspace(-1, 1, 60 * size).unsqueeze(1)[rank::size]
    y = 3 * x - 1
    model = DistributedDataParallel(torch.nn.Linear(1, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.3)
    for step in range(STEPS):
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(x), y)
        loss.backward()             # the gradients of all ranks are averaged here
        optimizer.step()
        if rank == 0 and step % (STEPS // 4) == 0:
            print(f"step {step}: loss {loss.item():.6f}", flush=True)

    weight, bias = (p.item() for p in model.parameters())
    print(f"rank {rank}: learned y = {weight:.3f} x {bias:+.3f}", flush=True)
    dist.barrier()                  # nobody leaves while another one still needs it
    assert abs(weight - 3) < 0.01 and abs(bias + 1) < 0.01
    dist.destroy_process_group()


main()
