"""Front doors over HTTP; each is a folder with its own extra."""
