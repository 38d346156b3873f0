"""Strategies that are optimised for a workload."""
