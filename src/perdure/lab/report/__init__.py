"""What a replay is shown as: JSON for programs, a table for people, a page for a browser."""
