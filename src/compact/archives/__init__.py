"""Archives: redacted copies of what a compaction replaces, written before it is committed.

One kind a module: `fs`, `s3`, `memory`, `none`; `queue` spools for one that is unreachable, `verify` checks.
"""
