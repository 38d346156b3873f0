"""What each peer is asked to do, in its own words; run by the peer's own Python (`serve.py`)."""
