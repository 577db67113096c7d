"""The coding agent on the command line: settings gathered, a model chosen, a session opened."""
