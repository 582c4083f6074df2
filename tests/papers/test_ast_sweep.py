"""The runs behind Tables 1 to 3: what differs between them, and what the tables say of them."""

import pytest
from papers import Result, Results, Setting
from papers.ast import authors, encoders, settings, sweep
from papers.training_runs import compose_training, epoch_log, train_link

from siamese_news.errors import InputError

SHARED = Setting("shared", (0, 1))


@pytest.mark.slow
@pytest.mark.parametrize(
    "data", ["shared", pytest.param("stories", marks=pytest.mark.slow)]
)
def test_the_encoders_differ_in_encoder_alone(data):
    setting = Setting(data, (0,))
    for split in sweep.splits(setting):
        composed = {
            encoder.option: compose_training(sweep.overrides(setting, encoder, split))
            for encoder in sweep.ENCODERS
        }
        first = composed["star_projected"]
        assert first["data"]["limits"]["article_tokens"] == 300
        for option, config in composed.items():
            # Dense attention is softmax by definition; the others take the sparsity or have none.
            ignored = {"encoder", "module", "labels"} | (
                {"sparsity"} if option == "transformer" else set()
            )
            differing = {key for key in config if config[key] != first[key]} - ignored
            assert not differing, (option, differing)


@pytest.mark.slow
def test_every_setting_changes_what_it_names_and_builds():
    from hydra.utils import instantiate

    base = compose_training(sweep.overrides(SHARED, sweep.ENCODERS[0], "pair"))
    for variant in settings.VARIANTS:
        options = [option.format(tenth=10) for option in variant.options]
        config = compose_training(
            [*sweep.overrides(SHARED, sweep.ENCODERS[0], "pair"), *options]
        )
        instantiate(config["encoder"], input_dim=100)
        changed = {key for key in config if config[key] != base[key]} - {"labels"}
        assert changed <= {"encoder", "module", "trainer", "objective"}
        assert bool(changed) == bool(variant.options)


def test_the_first_seed_of_all_comes_before_the_next_of_any():
    names = [job.name for job in sweep.sweep_jobs(SHARED)]
    assert len(set(names)) == len(names) == 2 * 7 * 3
    last_first = max(
        place for place, name in enumerate(names) if name.endswith("seed0")
    )
    assert last_first < min(
        place for place, name in enumerate(names) if name.endswith("seed1")
    )
    for encoder in sweep.ENCODERS:
        trial = names.index(sweep.trial_name(encoder, "pair"))
        assert trial < names.index(sweep.seed_name(encoder, "pair", 0))


def run(ap, mrp7, mrp8):
    pooled = {f"P@{r}": 0.5 for r in (50, 100, 200, 500, 1000, 2000, 3000, 3300)}
    pooled |= {"AP": ap, "AUC": 0.9, "mRP7": mrp7, "mRP8": mrp8}
    row = {"MAP": ap + 0.1, "dev map": 0.4, "epochs": 8, "AP": ap, "AUC": 0.9}
    counts = {"articles": 3, "posts": 40, "relevant": 9}
    return {
        "pooled": pooled,
        "ceilings": pooled,
        "counts": counts,
        "row": row,
        "rate": 0.001,
    }


def test_the_tables_are_means_over_the_seeds_that_there_are():
    ast, cnn = sweep.ENCODERS[:2]
    values = {
        sweep.seed_name(ast, "pair", 0): run(0.2, 0.3, 0.5),
        sweep.seed_name(ast, "pair", 1): run(0.4, 0.5, 0.5),
        sweep.seed_name(cnn, "pair", 1): run(0.35, 0.6, 0.2),
    }
    results = Results(
        SHARED, {name: Result(value, {}) for name, value in values.items()}
    )
    content = encoders.TABLE2.lay_out(results)
    rows = {row["encoder"]: row for row in content.tables[0].rows}
    assert rows["AST, projected heads"]["mAP"] == pytest.approx(0.3)
    assert rows["AST, projected heads"]["± over seeds"] == pytest.approx(0.02**0.5)
    assert rows["CNN"]["seeds"] == 1 and rows["CNN"]["± over seeds"] is None
    assert content.details.startswith(
        "mAP by pair: CNN 0.350, AST 0.300. Published: AST 0.530"
    )
    content = encoders.TABLE1.lay_out(results)
    assert "CNN (7 rows), AST, projected heads (8 rows)" in content.details
    assert [row["r"] for row in content.tables[0].rows][-3:] == [
        "3300",
        "mRP (7 rows)",
        "mRP (8 rows)",
    ]


def test_the_published_means_are_those_of_the_published_rows():
    """The printed mRP is the mean over eight rows, and over seven the CNN leads."""
    (table,) = encoders.TABLE1.published.tables
    seven, eight = table.rows[-2:]
    assert round(eight["AST"], 4) == 0.8131 and round(eight["CNN"], 4) == 0.8105
    assert round(seven["AST"], 4) == 0.8509 and round(seven["CNN"], 4) == 0.8513


def test_ten_epochs_are_a_split_by_pair_which_the_stories_do_not_have():
    def names(setting):
        sweeps = {job.name for job in sweep.sweep_jobs(setting)}
        return [
            job.name for job in encoders.TABLE2.jobs(setting) if job.name not in sweeps
        ]

    assert names(Setting("stories")) == [] and names(SHARED) == [encoders.TEN_EPOCHS]


def test_the_authors_settings_differ_in_the_encoder_alone_and_from_the_code_in_the_cut():
    first = compose_training(["experiment=usatoday_reference"])
    for encoder in authors.ENCODERS:
        config = compose_training(authors.overrides(encoder, "pair", 0))
        assert config["data"]["limits"] == first["data"]["limits"] | {
            "article_tokens": 128
        }
        assert config["task"] == first["task"] | {"bootstrap": 0}
        differing = {key for key in config if config[key] != first[key]}
        assert differing <= {
            "encoder",
            "module",
            "sparsity",
            "labels",
            "task",
            "data",
        }, encoder
    assert authors.EXHIBIT.jobs(Setting("stories")) == []


def test_the_authors_settings_say_what_was_not_run():
    values = run(0.2, 0.3, 0.5) | {
        "epochs": [{"dev/micro_ap": n / 10} for n in range(10)]
    }
    by_job = {
        authors.name_of("gru", "event", seed): Result(values, {}) for seed in (0, 1)
    }
    content = authors.EXHIBIT.lay_out(Results(SHARED, by_job))
    (table,) = content.tables
    rows = {row["encoder"]: row for row in table.rows}
    assert rows["GRU"]["seeds"] == 2 and rows["GRU"]["± over seeds"] == 0
    assert rows["GRU"]["dev mAP, epoch 10"] == pytest.approx(0.9)
    assert rows["CNN"] == {"encoder": "CNN", "seeds": "not run"}
    assert content.outcome == (
        "By event, GRU is first with an mAP of 0.200; a random order has 0.075."
    )
    assert content.details == "mAP by event: GRU 0.200 (random order 0.075)."


@pytest.mark.parametrize(
    ("ast", "of_ast"),
    [(0.4, ", as in the paper"), (0.1, ", in the paper AST (here 0.100)")],
)
def test_the_authors_settings_say_by_pair_whether_ast_is_first(ast, of_ast):
    by_job = {}
    for split in ("event", "pair"):
        for encoder, ap in (("star_reference", ast), ("gru", 0.2)):
            values = run(ap, 0.3, 0.5) | {"epochs": [{"dev/micro_ap": 0.1}] * 10}
            by_job[authors.name_of(encoder, split, 0)] = Result(values, {})
    outcome = authors.EXHIBIT.lay_out(Results(SHARED, by_job)).outcome
    assert outcome.startswith("By pair, ") and f"{of_ast}; a random" in outcome


def test_the_log_of_an_interrupted_run_is_read_over_all_its_parts(tmp_path):
    for version, lines in (("2", "0,0.1\n1,0.2\n"), ("10", "1,0.25\n2,0.3\n,\n")):
        folder = tmp_path / "csv" / f"version_{version}"
        folder.mkdir(parents=True)
        (folder / "metrics.csv").write_text(f"epoch,dev/map\n{lines}")
    assert [epoch["dev/map"] for epoch in epoch_log(tmp_path)] == [0.1, 0.25, 0.3]


def test_a_run_goes_on_in_its_own_folder_alone(tmp_path):
    (tmp_path / "options.json").write_text('{"format": 1, "options": ["seed=1"]}')
    with pytest.raises(InputError, match=r"options\.json: .*other options.*made="):
        train_link(["seed=2"], tmp_path)
    (tmp_path / "options.json").write_text("{")
    with pytest.raises(InputError, match="delete the folder"):
        train_link(["seed=2"], tmp_path)
