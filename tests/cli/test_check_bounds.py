"""`jostle check-bounds`: one command from a file to a report, and the charge."""

import json
import sys

import pytest

from jostle.cli.main import main


def test_a_file_is_checked_and_charged(tmp_path, monkeypatch, capsys):
    (tmp_path / "visits.csv").write_text("who,cost\n" + "".join(f"{n},{n % 7 * 30}\n" for n in range(700)))
    (tmp_path / "visits.toml").write_text('[columns.cost]\nkind = "real"\nlow = 0\nhigh = 100\nbins = 4\n')
    command = f"jostle check-bounds {tmp_path}/visits.csv --schema {tmp_path}/visits.toml --epsilon 40 --budget 50"
    more = f"--ledger {tmp_path}/budget.db --unit who:3 --format json".split()
    monkeypatch.setattr(sys, "argv", [*command.split(), *more])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 0
    shown = json.loads(capsys.readouterr().out)
    above = [row for row in shown["answers"] if row["values"] == "above 100"]
    assert 290 <= above[0]["count"] <= 310
    assert shown["charge"]["amount"] == "40"
