"""The dice fall the same everywhere."""

from collections import Counter

from perdure.testing.sessions.dice import Dice


def test_the_sequence_is_splitmix64() -> None:
    dice = Dice(1234567)

    # Published with the reference implementation's test vectors for this seed.
    assert [6457827717110365317, 3203168211198807973, 9817491932198370423] == [dice.roll() for _ in range(3)]


def test_weights_are_kept() -> None:
    dice = Dice(1)
    drawn = Counter(dice.weighted((("rare", 1), ("often", 9))) for _ in range(10_000))

    assert 850 < drawn["rare"] < 1150


def test_a_fork_does_not_depend_on_what_others_draw() -> None:
    dice = Dice(5)
    fork = dice.fork("project")
    again = Dice(5).fork("project")

    assert fork.roll() == again.roll()
    assert dice.fork("project").roll() != dice.fork("user").roll()


def test_some_are_different_ones() -> None:
    assert [1, 2, 3, 4] == sorted(Dice(9).some((1, 2, 3, 4), 9))
