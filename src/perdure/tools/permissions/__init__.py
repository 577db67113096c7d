"""What a call may do: commands taken apart, paths followed to where they lead, and rules as people write them."""
