"""`jostle predict`: the classes of new records, by a model that `jostle classify --save` wrote."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from jostle.cli.table_options import DelimiterOption, EncodingOption
from jostle.cli.terminal import all_words, check_apart, check_writable, tab_or

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray

    from jostle.learn.saved import SavedModel


def predict(
    model: Annotated[Path, typer.Argument(help="The model: a .json file of jostle classify --save.", show_default=False)],
    data: Annotated[Path, typer.Argument(help="The new records: a text file, one record per line.", show_default=False)],
    header: Annotated[bool, typer.Option(help="Whether the first line names the columns.")] = True,
    columns: Annotated[
        str | None, typer.Option(help="Names of all columns, with commas, for a file whose first line lacks them.")
    ] = None,
    delimiter: DelimiterOption = None,
    encoding: EncodingOption = None,
    probabilities: Annotated[
        bool, typer.Option("--probabilities", help="Add one column per class with its probability.")
    ] = False,
    out: Annotated[Path | None, typer.Option(help="Write the predictions to this .csv file.")] = None,
    explain: Annotated[bool, typer.Option("--explain", help="Say what the model is, on standard error.")] = False,
) -> None:
    """Predict the class of each record of a file, one line per record. Nothing is charged.

    The model is public, so what it says of your records is known to nobody but you. Do not publish predictions of private
    records: they are not protected.
    """
    from jostle.learn.held_out import read
    from jostle.learn.saved import load
    from jostle.schema.schema import TextFormat

    if out is not None:
        check_writable("out", out)
        check_apart("out", out, {"model": model, "data": data})
    saved = load(model)
    form = TextFormat().with_settings(delimiter=tab_or(delimiter), encoding=encoding)
    names = all_words(columns) if columns else None
    found = read(data, saved.task, header=header and not names, columns=names, form=form, labelled=False)
    text = _table(saved, found, probabilities=probabilities)
    if explain:
        typer.echo(saved.explain(), err=True)
    if out is None:
        typer.echo(text, nl=False)
        return
    out.write_text(text, "utf-8")
    typer.echo(f"The predictions are in {out}.", err=True)


def _table(saved: SavedModel, found: Mapping[str, NDArray[np.object_]], *, probabilities: bool) -> str:
    codes = {name: saved.task.encode(name, found[name]) for name in saved.task.attributes}
    shares = saved.model.scores(codes)
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\n")
    writer.writerow([saved.task.label, *([f"P({one})" for one in saved.classes_] if probabilities else [])])
    for row, best in zip(shares.tolist(), shares.argmax(axis=1).tolist(), strict=True):
        writer.writerow([saved.classes_[best], *([f"{share:.4f}" for share in row] if probabilities else [])])
    return written.getvalue()
