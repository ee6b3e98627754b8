"""The child process of the local model: llama.cpp's HTTP server, running until its standard input closes.

Run by its path, so that nothing of this package is loaded. The parent holds the other end of the pipe: when
the parent ends, in any way, the kernel closes that end and the server exits too.
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
    # It checks for disconnected clients only between batches; the usual 2,048 tokens take 15 seconds.
    params.n_batch = params.n_ubatch = 128
    # One thread: two become very slow under load.
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    params.cpuparams.poll = params.cpuparams_batch.poll = 0
    params.n_gpu_layers = 0
    params.ui = False
    # The model's own template adds a system prompt that nobody wrote and that no count would include.
    params.chat_template = "chatml"
    server = xl.Server(params)
    # From here on the server's own threads respond.
    sys.stdin.buffer.read()
    # No orderly shutdown: it would wait for a reply that is still being written.
    os._exit(0 if server else 1)


if __name__ == "__main__":
    serve(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
