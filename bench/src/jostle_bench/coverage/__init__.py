"""How often 95 % intervals hold on public data, how wide they are beside the ideal ones, and by how much to widen them."""
