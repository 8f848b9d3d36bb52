"""Engines that move bytes between ranks, and which of them started this process.

base      the interface; Alone: no engine
mpi       mpiexec, through mpi4py
gloo      torchrun and Ray Train, through torch.distributed
waiting   waits that leave the core to others
"""
