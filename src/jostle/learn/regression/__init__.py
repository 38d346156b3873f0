"""Private regression: what is predicted is a number, not a class.

Plans ask records through the kernel's operators only; everything else is post-processing.
"""
