"""What is replayed: everything that releases something, through the door that a user takes, and hard neighbours for it."""
