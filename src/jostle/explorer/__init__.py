"""The explorer: a local web application to look at algorithms on public data, and to release one's own.

It is thin. What is private is opened, charged and released by `jostle.tables` and the kernel's ledger; the pages show what
these say and nothing else. `jostle explore` starts it; `jostle.explorer.serving.application` makes it.
"""
