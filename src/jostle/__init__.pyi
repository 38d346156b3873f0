# The public names for type checkers. `__init__.py` loads the same ones when they are first used; a test compares the two.
from jostle import algorithms as algorithms
from jostle import choice as choice
from jostle import learn as learn
from jostle import mechanisms as mechanisms
from jostle import simulate as simulate
from jostle import workloads as workloads
from jostle.algorithms.registry import algorithm as algorithm
from jostle.answers.release import Release as Release
from jostle.answers.release import release as release
from jostle.choice.choice_maker import ChoiceMaker as ChoiceMaker
from jostle.choice.epsilon import epsilon_for as epsilon_for
from jostle.choice.metafeatures import metafeature as metafeature
from jostle.choice.options import Option as Option
from jostle.choice.options import option as option
from jostle.kernel.budget import Budget as Budget
from jostle.kernel.errors import BadInput as BadInput
from jostle.kernel.errors import JostleError as JostleError
from jostle.kernel.errors import Overdraft as Overdraft
from jostle.kernel.ledger import Ledger as Ledger
from jostle.kernel.measures import Approximate as Approximate
from jostle.kernel.measures import Concentrated as Concentrated
from jostle.kernel.measures import Pure as Pure
from jostle.kernel.neighbours import Neighbours as Neighbours
from jostle.schema import Boolean as Boolean
from jostle.schema import Category as Category
from jostle.schema import Date as Date
from jostle.schema import Integer as Integer
from jostle.schema import Real as Real
from jostle.schema import Schema as Schema
from jostle.schema import Text as Text
from jostle.tables.check_bounds import check_bounds as check_bounds
from jostle.tables.opening import open as open
from jostle.tables.unit import Unit as Unit

__version__: str
