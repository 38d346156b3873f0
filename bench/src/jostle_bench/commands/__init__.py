"""The subcommands of `jostle bench`."""
