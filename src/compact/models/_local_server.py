"""The child process of the local model: llama.cpp's HTTP server, until its standard input closes.

Run by its path, so that nothing of this package is loaded. The parent holds the other end of the pipe: when
it ends, however it ends, the kernel closes that end and the server goes too.
"""

from __future__ import annotations

import os
import sys


def serve(weights: str, port: int, window: int) -> None:
    import xllamacpp as xl

    params = xl.CommonParams()
    params.model.path = weights
    params.hostnames = ["127.0.0.1"]
    params.port = port
    params.n_ctx = window
    params.n_parallel = 1
    # Between batches it looks whether anybody still waits: one of the usual 2,048 tokens takes 15 seconds.
    params.n_batch = params.n_ubatch = 128
    # One thread: two collapse under load.
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    params.cpuparams.poll = params.cpuparams_batch.poll = 0
    params.n_gpu_layers = 0
    params.ui = False
    # The model's own template adds a system prompt that nobody wrote, and that no count would know of.
    params.chat_template = "chatml"
    server = xl.Server(params)
    # The server's own threads answer from here on.
    sys.stdin.buffer.read()
    # No tidy end: it would wait for a reply that is still being written.
    os._exit(0 if server else 1)


if __name__ == "__main__":
    serve(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
