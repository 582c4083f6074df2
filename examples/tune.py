"""Tune training with Optuna: python examples/tune.py FOLDER TRIALS [option=value ...].

Trains the demo with different encoders, sparsities and learning rates to find the best MAP on dev.
Change `suggest` for your own search. The study is FOLDER/study.db: the same command continues an
interrupted study, and several processes or machines that share the folder share the work.
"""

import sys
from pathlib import Path

import optuna
from hydra import compose, initialize_config_module

from siamese_news.train import train


def suggest(trial: optuna.Trial) -> list[str]:
    """The options of one trial."""
    encoder = trial.suggest_categorical("encoder", ["star", "cnn", "bigru"])
    lr = trial.suggest_float("lr", 1e-4, 1e-2, log=True)
    options = [f"encoder={encoder}", f"task.optimizer.lr={lr}"]
    if encoder == "star":  # the others have no attention
        maps = ["softmax", "entmax15", "adaptive"]
        options.append(f"sparsity={trial.suggest_categorical('sparsity', maps)}")
    return options


def main(folder: Path, trials: int, options: list[str]) -> None:
    """Run trials until the study has enough, and print the best one."""
    folder.mkdir(parents=True, exist_ok=True)
    # A missing heartbeat shows that a trial's process died; the trial is then run again.
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
        # Without the test: choosing by it would favor options that suit it by chance.
        with initialize_config_module("siamese_news.conf", version_base="1.3"):
            chosen = ["experiment=demo", "data.test=null", *options, *suggest(trial)]
            config = compose("train", chosen)
        row = train(config, folder / str(trial.number))
        assert row is not None
        return float(row["dev map"])

    done = optuna.study.MaxTrialsCallback(
        trials, states=(optuna.trial.TrialState.COMPLETE,)
    )
    if len(study.get_trials(states=(optuna.trial.TrialState.COMPLETE,))) < trials:
        study.optimize(objective, callbacks=[done])
    best = study.best_trial
    print(
        f"best of {len(study.trials)}: trial {best.number}, dev MAP {best.value:.4f}, {best.params}"
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])
