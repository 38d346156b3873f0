"""What comes back from a release: answers with error bars, and previews of them."""
