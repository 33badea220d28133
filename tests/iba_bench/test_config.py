import pytest

from iba_bench.cli import main
from iba_bench.errors import UserError
from iba_bench.hydra_config import compose, sweep
from simulator.verbs.generate import split_config


def test_overrides_choose_options_and_keys():
    data = compose("generate", ["noise=high", "benchmark=tiny", "cues.explicit=0.1"])
    assert data["noise"]["level"] == 0.6
    assert data["benchmark"]["personas"] == 8
    assert data["cues"]["explicit"] == 0.1


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("nois=high", "unknown key 'nois'; did you mean 'noise'?"),
        ("noise=hgih", "'noise' has no option 'hgih'; did you mean 'high'? valid: extreme, high, low, medium, none"),
        ("noise.levl=0.2", "'noise' has no key 'levl'; did you mean 'level'?"),
        ("history=", "'history' has no option ''"),
    ],
)
def test_an_unknown_override_lists_what_is_valid_with_a_near_match(override, message):
    with pytest.raises(UserError) as error:
        compose("generate", [override])
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["noise.level=1.0"], "noise.level: Input should be less than 1, got 1.0 (noise share of a history's tokens, from 0 to below 1)"),
        (["seed=-1"], "seed: Input should be greater than or equal to 0, got -1"),
        (["benchmark.tasks=57", "benchmark.personas=8"], "must be a whole multiple of personas (8)"),
        (["executor.workers=0"], "executor.workers: Input should be greater than or equal to 1, got 0 (number of processes)"),
        (["start=soon"], "start: "),
        (["cues.explicit=0.9", "cues.hinted=0.4"], "explicit + hinted must be at most 1"),
    ],
)
def test_a_bad_value_says_key_range_and_value(overrides, message):
    with pytest.raises(UserError) as error:
        split_config(compose("generate", overrides))
    assert message in str(error.value)


def test_a_sweep_is_the_product_of_its_choices():
    assert sweep(["noise=none,low", "seed=1", "history=short"]) == [
        ["noise=none", "seed=1", "history=short"],
        ["noise=low", "seed=1", "history=short"],
    ]


def test_the_command_speaks_of_itself(capsys):
    assert main(["--help"]) == 0
    shown = capsys.readouterr().out
    for verb in ("generate", "validate", "show", "scenarios", "release"):
        assert verb in shown
    assert main(["generate", "--help"]) == 0
    shown = capsys.readouterr().out
    assert "none" in shown and "extreme" in shown and "iba generate" in shown


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["generat"], "unknown verb 'generat'; did you mean 'generate'?"),
        (["generate", "--nosie"], "unknown option '--nosie'"),
        (["generate", "seed=1", "seed=x"], "seed: "),
        (["validate"], "run=FOLDER is missing"),
        (["validate", "run=/nowhere"], "no manifest.json there"),
        (["release", "chekc"], "did you mean 'check'?"),
        (["scenarios", "lst"], "did you mean 'list'?"),
    ],
)
def test_a_users_mistake_exits_2_without_a_traceback(arguments, message, capsys):
    assert main(arguments) == 2
    shown = capsys.readouterr()
    assert message in shown.err
    assert "Traceback" not in shown.err
    assert shown.out == ""
