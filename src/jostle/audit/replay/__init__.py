"""Record and replay: a private computation is run again on a neighbour, with every released number forced to be the same."""

from jostle.audit.replay.catalogue import add, add_option
from jostle.audit.replay.run import Case, ReplayVerdict, Subject, replay

__all__ = ["Case", "ReplayVerdict", "Subject", "add", "add_option", "replay"]
