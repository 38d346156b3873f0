"""Private tables: from a file, a frame, a database or a Spark session to a release.

The engine that holds the data sorts its rows into the cells of a public schema and counts them; nothing but counts comes
back, and they go straight into a source of the kernel. Proofs: docs/proofs/tables.md.
"""

from jostle.tables.engines.dialects import load_compilers_when_used

load_compilers_when_used()  # before any module here imports Ibis
