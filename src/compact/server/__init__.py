"""Front doors over HTTP; each is a folder with an extra of its own."""
