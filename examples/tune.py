"""Tune training with Optuna: python examples/tune.py FOLDER TRIALS [option=value ...].

Trains the demo with other learning rates and objectives and looks for the best MAP on dev. Change
`suggest` for a search of your own. The study is FOLDER/study.db: the same command goes on where it
was stopped, and several processes or machines that share the folder share the work.
"""

import sys
from pathlib import Path

import optuna
from hydra import compose, initialize_config_module

from siamese_news.train import train


def suggest(trial: optuna.Trial) -> list[str]:
    """The options of one trial."""
    return [
        f"task.optimizer.lr={trial.suggest_float('lr', 1e-4, 1e-2, log=True)}",
        f"objective={trial.suggest_categorical('objective', ['ntxent', 'circle'])}",
    ]


def main(folder: Path, trials: int, options: list[str]) -> None:
    """Run trials until the study has so many, and print the best one."""
    folder.mkdir(parents=True, exist_ok=True)
    # A trial whose process died is noticed by its missing heartbeat and is run again.
    storage = optuna.storages.RDBStorage(
        f"sqlite:///{folder / 'study.db'}",
        heartbeat_interval=10,
        heartbeat_stale_trial_callback=optuna.storages.RetryHeartbeatStaleTrialCallback(),
    )
    study = optuna.create_study(
        storage=storage, study_name="tune", direction="maximize", load_if_exists=True
    )

    if study.user_attrs.setdefault("options", options) != options:
        sys.exit(
            f"{folder}: its trials had other options ({' '.join(study.user_attrs['options'])})"
        )
    study.set_user_attr("options", options)

    def objective(trial: optuna.Trial) -> float:
        # Not the test: it would choose the option that suits it by chance.
        with initialize_config_module("siamese_news.conf", version_base="1.3"):
            chosen = ["experiment=demo", "data.test=null", *options, *suggest(trial)]
            config = compose("train", chosen)
        row = train(config, folder / str(trial.number))
        assert row is not None
        return float(row["dev map"])

    done = optuna.study.MaxTrialsCallback(trials, states=(optuna.trial.TrialState.COMPLETE,))
    if len(study.get_trials(states=(optuna.trial.TrialState.COMPLETE,))) < trials:
        study.optimize(objective, callbacks=[done])
    best = study.best_trial
    print(
        f"best of {len(study.trials)}: trial {best.number}, dev MAP {best.value:.4f}, {best.params}"
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])
