"""What the engine remembers between calls: sessions, their histories, sizes and ledgers."""
