"""Commands beside experiments and results: spelling, info, schema."""

import json
import os
import warnings

import click

from ciabench.cli.group import example, main, one_line


@main.command()
@click.option(
    "--pair", "names", multiple=True, help="Two words, as in passed,past (default: all pairs of the experiment)."
)
@click.option("--corpus", default="sotu", show_default=True, help="File or folder of text, plain or as word/tag.")
@click.option("--try", "sentence", help="A sentence with a blank, ___, to fill in.")
@click.option("--jobs", type=click.IntRange(min=1), help="Worker processes (default: one per core).")
@example('ciabench spelling --try "I did not know ___ to laugh or cry" --pair weather,whether')
def spelling(names: tuple[str, ...], corpus: str, sentence: str | None, jobs: int | None) -> None:
    """Choose between easily confused words in real text.

    Prints the accuracy of every learner, in %, on held-out documents or, with --try, the word that fits a blank.

    * marks a learner significantly above the majority, ° one below it (paired test over five splits, 5% level). †
    marks one whose best optimum was reached by only one of its restarts in at least one split, so that there may be a
    better one.
    """
    from rich.console import Console

    from ciabench.findings.spelling import to_table
    from ciabench.lab import spelling as lab
    from ciabench.world.pairs import DEFAULT_PAIRS, named_pairs

    pairs = [pair for name in names for pair in named_pairs(name)] or list(DEFAULT_PAIRS)
    if sentence is None:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", RuntimeWarning)
            rows = lab.measure(pairs, corpus, jobs or os.cpu_count() or 1)
        for warning in caught:
            click.echo(one_line(str(warning.message)), err=True)
        Console().print(to_table(rows, list(lab.LEARNERS)))
        return
    if len(pairs) != 1:
        raise click.UsageError("--try needs one --pair of two words.")
    answer = lab.answer(sentence, pairs[0], corpus)
    click.echo(answer.word)
    for feature, weight in answer.evidence.items():
        click.echo(f"{weight:+9.3f}  {feature}")


@main.command()
@example("ciabench info")
def info() -> None:
    """Print versions, BLAS, processor and threads."""
    from ciabench.lab.storage.provenance import environment

    click.echo(json.dumps(environment(), indent=2))


@main.command()
@example("ciabench schema > experiment.schema.json")
def schema() -> None:
    """Print the JSON schema of experiment files."""
    from ciabench.lab.plan import experiment

    click.echo(json.dumps(experiment.schema(), indent=2))
