"""``cepheus run``: a pipeline on Spark, described in a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from cepheus.cli.console import note, report, warnings_reported
from cepheus.cli.run_options import with_run_options


@with_run_options
def run(
    pipeline: Annotated[Path, typer.Argument(help="The pipeline file: sources, rules and sinks, in TOML.")],
    master: Annotated[
        str | None, typer.Option(metavar="URL", help="Where Spark runs, instead of what the file says.")
    ] = None,
    read: Annotated[
        str | None,
        typer.Option(metavar="WHO", help="Who reads Parquet files of a batch: auto, spark, or files for the tasks."),
    ] = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Tell how the rules would be split, and run nothing.")
    ] = False,
    check: Annotated[
        bool, typer.Option("--check", help="Only check the file and its rules, without starting Spark.")
    ] = False,
    *,
    options: dict[str, Any],
) -> None:
    """Run rules on Spark: read sources, find composite events, write them to sinks, without a line of code.

    An option that is given here goes before what the file says of it.
    """
    from cepheus.engine.base.ties import told
    from cepheus.runtime.spark.pipeline_file import check_pipeline, overridden, read_pipeline
    from cepheus.runtime.spark.pipeline_run import detection_of, run_pipeline
    from cepheus.runtime.spark.session import plain_failures, spark_session

    described = overridden(read_pipeline(pipeline), options if read is None else {**options, "read": read})
    if check:
        report(check_pipeline(pipeline, described))
        note(f"{pipeline}: no errors")
        return
    where = described.spark
    packages = {"spark.jars.packages": ",".join(where.packages)} if where.packages else {}
    settings = {**packages, **where.options}
    spark = spark_session(master or where.master, name=where.name, options=settings, silent=True)
    try:
        with plain_failures(), warnings_reported():
            found = detection_of(spark, described)
            report(found.checked.warnings)
            if explain:
                print(found.explain(measure=not described.is_stream), end="")
                return
            ties = run_pipeline(described, found)
    finally:
        spark.stop()
    sequence = described.detect.sequence
    order = "the order of their contents" if sequence is None else f"'{sequence}'"
    remedy = "sequence = 'COLUMN' in [detect] names a column that orders them" if sequence is None else None
    for line in told(ties, order=order, remedy=remedy):
        note(line)
    if ties.uncounted:
        note(f"simultaneous events: {' and '.join(ties.uncounted)} counts nothing of what they decide")
    note(f"done: {len(described.sinks)} {'sink' if len(described.sinks) == 1 else 'sinks'} written")
