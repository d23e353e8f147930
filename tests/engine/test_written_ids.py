"""Ids that are written all at once are those that are written one by one."""

from dataclasses import replace

import pytest
from agreement import to_batch
from random_cases import make_case
from random_rules import LIVELY

from cepheus.core.batch import InArrow
from cepheus.core.errors import CepheusError
from cepheus.core.options import RunOptions
from cepheus.core.schema import Schema
from cepheus.engine.assembly.registry import create
from cepheus.formats.table import to_table


@pytest.mark.parametrize("named", [False, True])
def test_ids_in_arrow_are_the_ids(named: bool) -> None:
    compared = texts = 0
    for seed in range(40):
        try:
            case = make_case(seed, events=120, habits=LIVELY)
            schema = Schema([*case.checked.inputs.values(), *case.checked.composites.values()])
            engine = create(RunOptions(engine="columns", threads=1), case.checked.rules.rules, schema)
            events = [replace(event, id=f"e{at}" if named and at % 3 else at) for at, event in enumerate(case.events)]
            found = engine.feed(to_batch(events))
        except CepheusError:
            continue
        for batch in found.chunks or (found,):
            if not isinstance(batch.ids, InArrow) or len(batch) == 0:
                continue
            assert batch.provenance is not None
            table = to_table(batch)
            made_of = [list(map(str, ids)) for ids in batch.provenance.made_of]
            assert table.column("id").to_pylist() == list(batch.ids)
            assert table.column("from").to_pylist() == [ids or None for ids in made_of]
            compared += len(batch)
            texts += sum(not each.isdigit() for ids in made_of for each in ids)
    assert compared > 50
    assert texts > 20
