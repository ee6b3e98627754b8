"""Archives: redacted copies of what a compaction replaces, written before it is committed.

One module per kind: `fs`, `s3`, `memory`, `none`. `queue` spools for an unreachable archive; `verify` checks.
"""
