"""A terminal that lacks signs of the data gets escapes for them."""

import os
import subprocess
import sys
from pathlib import Path


def test_signs_that_ascii_lacks_are_escaped(tmp_path: Path) -> None:
    (tmp_path / "u.tesla").write_text(
        "define Fire(area: string) from Smoke() where area = Smoke.area", encoding="utf-8"
    )
    (tmp_path / "u.csv").write_text("type,time,area\nSmoke,1,Straße\n", encoding="utf-8")
    command = [sys.executable, "-m", "cepheus", "detect", "u.tesla", "--events", "u.csv", "--time-unit", "s"]
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, "Stra\\xdfe" in done.stdout) == (0, True), done.stderr
