"""What a model may call: definitions of tools, and calls carried out."""
