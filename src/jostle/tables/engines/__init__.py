"""Where rows are: files, frames, databases and Spark, each opened as an Ibis table of a closed list of types."""
