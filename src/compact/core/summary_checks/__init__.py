"""Whether a text may be used as a summary (`check`), and which of its lines carry authority (`untrusted`)."""
