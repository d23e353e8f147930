"""How far everything has been delivered: promises to the sinks that ask for them.

Who subscribes with promises is told, besides events, up to which time no more will come. Fathers are told how far all
that is made below them has been sent; the root, which knows that of everybody, passes it down. Links keep the order of
sending, so a promise never overtakes the events that it is about. Nothing is said in trees where nobody has asked.
"""

from __future__ import annotations

from dataclasses import dataclass

from cepheus.core.time import MAX_TIME, MIN_TIME
from cepheus.runtime.network.processor.common import Common
from cepheus.runtime.network.processor.sinks import Sinks
from cepheus.runtime.network.processor.sources import Sources
from cepheus.runtime.network.processor.tree import Tree
from cepheus.runtime.network.processor.trees import Trees
from cepheus.runtime.network.protocol.messages import Completed


@dataclass(slots=True)
class Completion:
    """What a processor says of how far it is."""

    common: Common
    sources: Sources
    trees: Trees
    sinks: Sinks

    def on_completed(self, message: Completed, sender: str) -> None:
        """Learn how far a child is, or what the father promises."""
        tree = self.trees.by_name[message.tree]
        self.sinks.asked = True
        if sender in tree.children:
            tree.children[sender].completed = message.through
            return
        self._begin(tree)
        if message.through is not None:
            self._pass_down(tree, message.through)

    def look(self) -> None:
        """Say what has changed since the last time."""
        if not self.common.in_order:
            return  # whoever does not wait for others cannot tell how far they are
        for tree in self.trees.by_name.values():
            if not tree.reports:
                if not tree.is_root or not tree.complete or not self._wanted(tree):
                    continue
                self._begin(tree)
            through = self._through(tree)
            if tree.father is None:
                # nobody has anything more to say, and whoever comes will say it of later times
                self._pass_down(tree, tree.latest if through is None else through)
            elif through != tree.reported:
                tree.reported = through
                self.common.send(tree.father, Completed(tree.name, through))

    def _wanted(self, tree: Tree) -> bool:
        return self.sinks.promising or any(child.promises for child in tree.children.values())

    def _begin(self, tree: Tree) -> None:
        """From now on the father is told; let the children tell this processor."""
        if not tree.reports:
            tree.reports = True
            for name in tree.children:
                self.common.send(name, Completed(tree.name))

    def _through(self, tree: Tree) -> int | None:
        """Up to when all that is made at or below this processor has been sent; None if nothing is made."""
        found = [child.completed for child in tree.children.values() if child.completed is not None]
        if self._makes(tree):
            found.append(tree.evaluation.done)
        return min(found, default=None)

    def _makes(self, tree: Tree) -> bool:
        """Whether anything may be made here: sources or children have events for this processor."""
        if any(not source.gone for source in self.sources.by_name.values()):
            return True
        return tree.children_through() < MAX_TIME or tree.evaluation.waits_for is not None

    def _pass_down(self, tree: Tree, through: int) -> None:
        if through <= tree.completed or through == MIN_TIME:
            return
        tree.completed = through
        self.sinks.promise(through)
        for name, child in tree.children.items():
            if child.promises:
                self.common.send(name, Completed(tree.name, through))
