"""Load only those of Ibis' SQL compilers that are used: all twenty take longer to load than a table takes to be counted.

Ibis' package `ibis.backends.sql.compilers` imports a module per engine, and with them the SQL dialects of all engines, when
a first engine is used. Here that package is loaded without running its `__init__`; each module in it is loaded when it, or
its compiler, is first asked for. Whoever else uses Ibis in this process finds everything that the package has. Where the
package looks different from what is expected here, it is loaded as Ibis wrote it.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType

COMPILERS = "ibis.backends.sql.compilers"
DIALECTS = "ibis.backends.sql.dialects"
"""Ibis' own dialects, most of which its compilers load. SQLglot knows them by name from then on."""

_IN_BOTH = ("clickhouse", "druid", "exasol", "risingwave")
_IN_IBIS = ("datafusion", "flink", "impala", "mssql", "polars", "pyspark")
_NAMED = frozenset(f"sqlglot.dialects.{name}" for name in (*_IN_BOTH, *_IN_IBIS))
"""Where SQLglot looks for a dialect that it does not know yet, if Ibis has one of that name."""


def load_compilers_when_used() -> None:
    """From now on; where Ibis is loaded already, somebody else uses it, and it is left as it is."""
    if "ibis" not in sys.modules and not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())


class _Finder(MetaPathFinder):
    """Finds what Python would find, and has two things loaded in another way."""

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        if fullname == COMPILERS:
            found = PathFinder.find_spec(fullname, path, target)
            if found is not None and found.loader is not None and found.submodule_search_locations is not None:
                homes = _homes(found.loader)
                if homes:
                    found.loader = _OneByOne(found.loader, homes)
                    return found
        elif fullname in _NAMED and isinstance(getattr(sys.modules.get(COMPILERS), "__getattr__", None), _LazyAttributes):
            return self._named(fullname, path, target)
        return None

    def _named(self, fullname: str, path: Sequence[str] | None, target: ModuleType | None) -> ModuleSpec | None:
        """A dialect by a name that Ibis has as well: Ibis' own is loaded too, as if all compilers had been."""
        found = PathFinder.find_spec(fullname, path, target)
        if found is None or found.loader is None:
            import_module(DIALECTS)
            return None  # there is no such module; but the dialect is registered now
        found.loader = _WithDialects(found.loader)
        return found


class _Wrapped(Loader):
    """A loader in whose place something else is done; the module keeps the loader itself."""

    def __init__(self, loader: Loader) -> None:
        self.loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self.loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        module.__loader__ = self.loader
        if module.__spec__ is not None:
            module.__spec__.loader = self.loader


class _WithDialects(_Wrapped):
    """After a dialect of SQLglot's, load Ibis' of the same name, which then takes its place."""

    def exec_module(self, module: ModuleType) -> None:
        super().exec_module(module)
        self.loader.exec_module(module)
        import_module(DIALECTS)


class _OneByOne(_Wrapped):
    """In place of running a package that imports all its modules, import each when it is asked for."""

    def __init__(self, loader: Loader, homes: Mapping[str, str]) -> None:
        super().__init__(loader)
        self.homes = homes

    def exec_module(self, module: ModuleType) -> None:
        super().exec_module(module)
        attributes = _LazyAttributes(module, self.homes)
        vars(module).update(__all__=sorted(self.homes), __getattr__=attributes, __dir__=attributes.names)


class _LazyAttributes:
    """What the package has: its modules, and in each a compiler. Loads those that it is asked for (PEP 562).

    Needs no lock: an import waits for one of the same module by another thread, and to keep a value twice does no harm.
    """

    def __init__(self, module: ModuleType, homes: Mapping[str, str]) -> None:
        self.module = module
        self.homes = homes

    def __call__(self, name: str) -> object:
        if name in self.homes:
            value: object = getattr(import_module(f"{COMPILERS}.{self.homes[name]}"), name)
            setattr(self.module, name, value)
            return value
        # Besides the modules that the package imports itself, there are those that these import, such as `base`.
        if name.startswith("__") or PathFinder.find_spec(f"{COMPILERS}.{name}", self.module.__path__) is None:
            raise AttributeError(f"module {COMPILERS!r} has no attribute {name!r}")
        return import_module(f"{COMPILERS}.{name}")

    def names(self) -> list[str]:
        """What `dir` lists."""
        return sorted({*vars(self.module), *self.homes, *self.homes.values()} - {"__getattr__", "__dir__"})


def _homes(loader: Loader) -> dict[str, str]:
    """In which of its modules a package finds each of its names; empty if its `__init__` does anything but import them."""
    try:
        text = loader.get_source(COMPILERS)  # type: ignore[attr-defined]  # not all loaders can
        statements = ast.parse(text).body
        listed: list[str] = []
        homes: dict[str, str] = {}
        for statement in statements:
            match statement:
                case ast.ImportFrom(module="__future__"):
                    pass
                case ast.Assign(targets=[ast.Name(id="__all__")]):
                    listed = ast.literal_eval(statement.value)
                case ast.ImportFrom(module=str(module), level=0) if module.rpartition(".")[0] == COMPILERS:
                    if any(name.asname for name in statement.names):
                        return {}
                    homes |= {name.name: module.rpartition(".")[2] for name in statement.names}
                case _:
                    return {}
    except Exception:  # noqa: BLE001  # whatever is different, Ibis loads itself
        return {}
    return homes if sorted(homes) == sorted(listed) else {}
