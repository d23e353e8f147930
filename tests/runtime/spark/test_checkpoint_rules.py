"""What a checkpoint says of the rules that made it: other rules are refused, and words say what has changed."""

from __future__ import annotations

from dataclasses import replace

import pytest
from event_rows import whole_job

from cepheus.core.errors import SnapshotError
from cepheus.core.options import RunOptions
from cepheus.language.etalis import parse as etalis
from cepheus.language.tesla import parse
from cepheus.rules.check import check
from cepheus.runtime.spark.checkpoint_rules import describe, from_bytes, refuse_changed, to_bytes
from cepheus.runtime.spark.shard import Job
from cepheus.runtime.spark.shard_work import JobWork

RULES = """
event A(x: int, y: int);
define P(v: int) from A(x > 3) where v = A.x;
define Q(v: int) from A(x > 5) where v = A.x
"""


def job_of(rules: str) -> Job:
    return whole_job(check(parse(rules)), sequenced=False)


def with_group(job: Job, **changes: object) -> Job:
    return replace(job, groups=(replace(job.groups[0], **changes),))  # type: ignore[arg-type]


def refusal(old: list[Job], new: list[Job]) -> str:
    """Give what is said to a checkpoint that some jobs made and others are to go on with."""
    made_by = from_bytes(to_bytes(list(map(describe, old))))
    assert made_by is not None
    with pytest.raises(SnapshotError) as caught:
        refuse_changed(made_by, list(map(describe, new)), "here/checkpoint")
    return str(caught.value)


def test_the_same_rules_are_welcome() -> None:
    made_by = from_bytes(to_bytes([describe(job_of(RULES))]))
    assert made_by == (describe(job_of(RULES)),)
    refuse_changed(made_by, [describe(job_of(RULES.replace("x > 3", "x>3")))], "here")  # how they are written is free


def test_what_changed_is_told() -> None:
    other = RULES.replace("x > 3", "x > 4").replace("define Q", "define R")
    assert refusal([job_of(RULES)], [job_of(other)]) == (
        "here/checkpoint: error[checkpoint-rules]: the checkpoint was made by other rules: 'P' has changed, "
        "'R' is new, 'Q' is gone\n  hint: go on with the rules that made it, or start these with a new checkpoint"
    )


def test_what_else_a_state_goes_with_is_told() -> None:
    job = job_of(RULES)
    assert "made with 1 shard, and now there would be 4" in refusal([job], [with_group(job, shards=range(4))])
    assert "go on with as many, shards=1" in refusal([job], [with_group(job, shards=range(4))])
    assert "the engine was 'auto' and now is 'reference'" in refusal(
        [job], [with_group(job, options=RunOptions(engine="reference"))]
    )
    sequenced = whole_job(check(parse(RULES)), sequenced=True)
    assert "the columns of the events, or their types, have changed" in refusal([job], [sequenced])
    assert "a query that runs detect 2 times, this one does once" in refusal([job, job], [job])


def test_changed_facts_are_other_rules() -> None:
    rules = 'room("hall"). room("attic"). p(X) <- a(X) WHERE room(X).'
    job, moved = (whole_job(check(etalis(text)), sequenced=False) for text in (rules, rules.replace("attic", "shed")))
    swapped = whole_job(check(etalis('room("attic"). room("hall"). p(X) <- a(X) WHERE room(X).')), sequenced=False)
    assert "the same rules, but facts that they read have changed" in refusal([job], [moved])
    assert JobWork(job, 0).fingerprint != JobWork(moved, 0).fingerprint
    refuse_changed([describe(job)], [describe(swapped)], "here")


def test_what_is_refused_here_is_what_the_shards_would_refuse() -> None:
    job = job_of(RULES)
    others = [
        job_of(RULES.replace("x > 3", "x > 4")),
        with_group(job, shards=range(4)),
        with_group(job, options=RunOptions(engine="reference")),
        whole_job(check(parse(RULES)), sequenced=True),
    ]
    for other in others:
        assert describe(other).groups == (JobWork(other, 0).fingerprint,) != describe(job).groups


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b'{"format": 99}', b'{"format": 1, "detections": [{"what": 1}]}'])
def test_what_is_damaged_tells_nothing(data: bytes) -> None:
    assert from_bytes(data) is None
