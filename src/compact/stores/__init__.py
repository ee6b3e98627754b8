"""Where sessions live: originals and records, behind the Store port."""
