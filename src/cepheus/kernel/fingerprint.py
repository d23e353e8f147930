"""What the code of a module is made of: the sources of all modules of this package that it can reach by imports.

Compiled code has everything baked in that it can see: numbers of enumerations, constants, functions of other modules.
So what was compiled from a module may be used again only as long as all of that is the same, to the letter.
"""

from __future__ import annotations

import hashlib
import os
import re
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

_BEGAN = time.time()
_IMPORT = re.compile(
    rb"^[ \t]*(?:from[ \t]+([\w.]+)[ \t]+import[ \t]+(\([^)]*\)|[^\n#]+)|import[ \t]+([\w.]+(?:[ \t]*,[ \t]*[\w.]+)*))",
    re.MULTILINE,
)
_NAME = re.compile(rb"\w+")
_DOTTED = re.compile(rb"[\w.]+")


@dataclass(frozen=True, slots=True)
class Source:
    """The text of a module, and whether the module is a package.

    ``replaced`` says that the file is younger than this process, which may have imported the one before it.
    """

    text: bytes
    is_package: bool
    replaced: bool


def _read(path: str) -> bytes:
    get_data = getattr(globals().get("__loader__"), "get_data", _read_file)  # reads from an archive, too
    data: bytes = get_data(path)
    return data


def _read_file(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


@dataclass(slots=True)
class Sources:
    """The modules of a package, read when they are asked for.

    ``folder`` holds the package, ``read`` gives the content of a file in it and raises OSError if there is none.
    """

    package: str
    folder: str
    read: Callable[[str], bytes] = _read
    _known: dict[str, Source | None] = field(default_factory=dict)
    _reachable: dict[str, frozenset[str]] = field(default_factory=dict)
    _digests: dict[str, bytes] = field(default_factory=dict)

    def source(self, module: str) -> Source | None:
        """The source of a module; None if there is no such module in the package."""
        if module not in self._known:
            self._known[module] = self._find(module)
        return self._known[module]

    def _find(self, module: str) -> Source | None:
        if module != self.package and not module.startswith(f"{self.package}."):
            return None
        path = os.path.join(self.folder, *module.split(".")[1:])
        for file, is_package in ((f"{path}.py", False), (os.path.join(path, "__init__.py"), True)):
            try:
                return Source(self.read(file), is_package, _is_younger(Path(file)))
            except OSError:
                continue
        return None

    def imports(self, module: str) -> Iterator[str]:
        """Walk through the modules of the package that a module imports, wherever in its text."""
        source = self.source(module)
        for origin, names, plain in _IMPORT.findall(b"" if source is None else source.text):
            for imported in _DOTTED.findall(plain):
                yield from self._present(imported.decode())
            if origin:
                base = origin.decode()
                yield from self._present(base)
                found = self.source(base)
                if found is not None and found.is_package:
                    for name in _NAME.findall(names):
                        yield from self._present(f"{base}.{name.decode()}")

    def _present(self, module: str) -> Iterator[str]:
        if self.source(module) is not None:
            yield module

    def reachable(self, module: str) -> frozenset[str]:
        """The modules of the package that a module is made of: itself, what it imports, what that imports."""
        if module not in self._reachable:
            found: set[str] = set()
            ahead = list(self._present(module))
            while ahead:
                each = ahead.pop()
                if each not in found:
                    found.add(each)
                    ahead += self.imports(each)
            self._reachable[module] = frozenset(found)
        return self._reachable[module]

    def key(self, modules: Iterable[str], more: Iterable[str] = ()) -> str:
        """Compute a digest of all that some modules are made of, and of more words."""
        digest = hashlib.blake2b(digest_size=16)
        for each in sorted(frozenset().union(*map(self.reachable, modules))):
            digest.update(each.encode() + b"\0" + self._digest(each))
        for word in more:
            digest.update(hashlib.blake2b(word.encode(), digest_size=16).digest())
        return digest.hexdigest()

    def _digest(self, module: str) -> bytes:
        if module not in self._digests:
            source = self.source(module)
            assert source is not None
            self._digests[module] = hashlib.blake2b(source.text, digest_size=16).digest()
        return self._digests[module]

    def is_replaced(self, modules: Iterable[str]) -> bool:
        """Whether a file that modules are made of was replaced while this process ran: it may run the old one."""
        reachable = frozenset().union(*map(self.reachable, modules))
        return any(source is not None and source.replaced for source in map(self.source, reachable))


def _is_younger(path: Path) -> bool:
    while not path.exists() and path != path.parent:
        path = path.parent  # the archive that holds it
    return path.stat().st_ctime > _BEGAN


OWN = Sources(__name__.partition(".")[0], str(Path(__file__).parents[1]))
"""The modules of this package."""
