"""Public linear algebra: workloads, and what is done with answers after they were released."""
