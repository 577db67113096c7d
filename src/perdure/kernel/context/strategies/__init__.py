"""The rungs of the ladder, one file each."""
