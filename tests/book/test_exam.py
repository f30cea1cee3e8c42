"""Exams from a seed: each answer of the key is found again from the printed question, by another way than the key's own."""

import cmath
import re
from itertools import count

import pytest
import torch
from exam.__main__ import draw, exam, key, main
from exam.questions import QUESTIONS
from scipy.stats import binom

SEEDS = [str(each) for each in range(12)]


def numbers(text):
    return [float(each) for each in re.findall(r"-?\d+(?:\.\d+)?", text)]


def rows(text):
    """The cells of a table, below its head."""
    lines = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("|")]
    return lines[2:]


def problem(text):
    """The assigned numbers by letter, the asked letter and the typed number of a printed problem."""
    assigned = {letter: int(number) for letter, number in re.findall(r"([a-l])=(\d+)", text)}
    letter, typed = re.search(r"([a-l])\+(\d+)=\?", text).groups()
    return assigned, letter, int(typed)


def answers(chapter, seed):
    question = draw(seed, [chapter])[0]
    return question.asked, [answer for _, answer in question.key]


@pytest.mark.parametrize("chapter", QUESTIONS)
def test_every_question_has_five_points_and_depends_on_the_seed(chapter):
    drawn = [draw(seed, [chapter])[0] for seed in SEEDS]
    assert {each.points for each in drawn} == {5}
    assert len({each.asked for each in drawn}) > 5
    assert draw("7", [chapter, 1])[0] == draw("7", [1, chapter])[1]


@pytest.mark.parametrize("seed", SEEDS)
class TestKeys:
    def test_without_looking_up(self, seed):
        asked, (solved, guesses, share) = answers(1, seed)
        assigned, letter, typed = problem(asked)
        given = [(each + typed) % 59 for each in assigned.values()]
        assert numbers(solved) == [(assigned[letter] + typed) % 59]
        assert numbers(guesses) == [*sorted(given), len(given)]
        most = int(numbers(asked.partition("1 to ")[2])[0])
        assert re.findall(r"1/(\d)", share.partition("which")[0]) == [str(n) for n in range(2, most + 1)]
        right = sum(1 for n in range(1, most + 1) for _ in range(5040 // n)) / (5040 * most)  # of 5040 tries a kind
        assert numbers(share)[-1] == pytest.approx(100 * right, abs=0.5)

    def test_attention(self, seed):
        asked, (scores, weights, longer, _) = answers(2, seed)
        query = torch.tensor(numbers(asked.partition("query is")[2])[:2])
        keys = torch.tensor([numbers(key) for _, key, _ in rows(asked)])
        values = torch.tensor([float(value) for *_, value in rows(asked)])
        softmax = (keys @ query).softmax(0)
        assert numbers(scores) == (keys @ query).tolist()
        assert numbers(weights) == pytest.approx([*(100 * softmax).tolist(), float(softmax @ values)], abs=0.51)
        largest = [100 * float(each.max()) for each in (softmax, (2 * keys @ query).softmax(0))]
        assert numbers(longer) == pytest.approx(largest, abs=0.51)

    def test_twins(self, seed):
        asked, (pairs, chance, expected, _) = answers(3, seed)
        modulus, out = (int(each) for each in numbers(asked)[:2])
        assert numbers(pairs) == [modulus**2, modulus] and numbers(chance) == [100 - out]
        torch.manual_seed(0)
        held = torch.rand(2000, modulus, modulus) < out / 100
        right = held & ~held.mT & ~torch.eye(modulus, dtype=bool)
        assert numbers(expected)[0] == pytest.approx(100 * float(right.sum() / held.sum()), abs=1.5)

    def test_rows(self, seed):
        asked, (named, *_) = answers(4, seed)
        for part in named.split("; "):
            row = next(row for row in rows(asked) if row[0] == part[0])
            assert row[1] == "100"
            if "by heart" in part:
                assert row[2:] == ["0", "100", "0"]
            elif "takes any" in part:
                assert row[3] == row[4] == f"{100 / int(numbers(part)[0]):.0f}"
            else:
                assert row[2:] == ["100", "0", "0"]

    def test_notes(self, seed):
        asked, (weights, moved, double) = answers(5, seed)
        assigned, letter, typed = problem(asked)
        match, place = (float(each) for each in re.findall(r"score of (\d)", asked))
        scores = torch.tensor([match * (each == letter) for each in assigned] + [place])
        shown = [float(each) for each in re.findall(r"(\d+)%", weights)]
        assert shown == pytest.approx((100 * scores.softmax(0)).tolist(), abs=0.51)
        notes = dict(zip(assigned.values(), [*assigned][-1:] + [*assigned][:-1], strict=True))
        found = next(number for number, note in notes.items() if note == letter)
        assert numbers(moved)[0] == (found + typed) % 59 and numbers(double) == [2 * typed % 59]

    def test_neuron(self, seed):
        asked, (corners, together, _) = answers(6, seed)
        bend, *_ = (int(each) for each in re.search(r"y - (\d+)", asked).groups())
        points = [tuple(map(int, each)) for each in re.findall(r"\((\d), (\d)\)", asked)[:4]]
        passed = torch.relu(torch.tensor([float(x + y - bend) for x, y in points]))
        assert numbers(corners) == passed.tolist()
        assert numbers(together)[-1] == passed[3] - passed[1] - passed[2] + passed[0] > 0

    def test_clocks(self, seed):
        asked, (stands, votes, _) = answers(7, seed)
        hours, first, second = (int(each) for each in (*numbers(asked)[:2], *re.findall(r"the other (\d+)", asked)))
        x, y = (int(each) for each in re.findall(r"\$ = (\d+)", asked))
        turn = cmath.exp(2j * cmath.pi / hours)
        told = [(turn ** (k * (x + y)) / turn ** (k * c)).real for c in range(hours) for k in (first, second)]
        total = [told[2 * c] + told[2 * c + 1] for c in range(hours)]
        hands = [each for k in (first, second) for each in (k, k * x % hours, k * y % hours, k * (x + y) % hours)]
        assert numbers(stands) == hands
        right = total.index(max(total))
        assert numbers(votes)[:2] == [2, right] and max(total) == pytest.approx(2)
        assert numbers(votes)[2] == pytest.approx(max(total[:right] + total[right + 1 :]), abs=0.01)

    def test_scores(self, seed):
        asked, (whole, left, _) = answers(8, seed)
        cells = torch.tensor([[float(each) for each in row[1:]] for row in rows(asked)])
        others = int(re.search(r"The (\d) other", asked)[1])
        shares = [torch.tensor([s, *[0.0] * others]).softmax(0)[0] for s in (cells.sum(), cells.sum() - cells[1, 1])]
        assert numbers(whole) == pytest.approx([float(cells.sum()), 100 * float(shares[0])], abs=0.51)
        assert numbers(left) == pytest.approx([100 * float(shares[1])], abs=0.51)

    def test_experiment(self, seed):
        asked, (expected, *_) = answers(9, seed)
        assigned, letter, typed = problem(asked)
        ring = [*assigned, *assigned]
        shift = 2 if "second next" in asked else 1
        assert numbers(expected) == [(assigned[ring[ring.index(letter) + shift]] + typed) % 59]

    def test_size_of_a_score(self, seed):
        asked, (need, grown, three) = answers(10, seed)
        count_, share = numbers(asked)[0], numbers(asked.partition("to get")[2])[0]

        def attention(s, others):
            return float(torch.tensor([s, *[0.0] * int(others)]).softmax(0)[0])

        s = numbers(need)[-1]
        assert attention(s - 0.06, count_ - 1) < share / 100 < attention(s + 0.06, count_ - 1)
        s += numbers(grown)[-1]
        assert attention(s - 0.12, 2 * count_ - 1) < share / 100 < attention(s + 0.12, 2 * count_ - 1)
        assert numbers(three) == pytest.approx([100 * attention(3.0, count_ - 1)], abs=0.51)

    def test_wait(self, seed):
        asked, (share, *_) = answers(11, seed)
        letters, one_sided = (int(each) for each in numbers(asked)[:2])
        sides = [(side, seen) for n in range(letters) for side in "lr" for seen in ["l" if n < one_sided else "lr"]]
        assert numbers(share)[2] == pytest.approx(100 * sum(a not in b for a, b in sides) / len(sides), abs=0.5)

    def test_runs(self, seed):
        asked, (all_hold, but, need, _) = answers(12, seed)
        runs = int(numbers(asked)[0])
        failed, level = int(re.search(r"all but (\d)", asked)[1]), int(re.search(r"holds in (\d+)%", asked)[1])
        assert 1 / numbers(all_hold)[1] == binom.pmf(runs, runs, 0.5)
        assert numbers(but) == pytest.approx([binom.cdf(failed, runs, 0.5)], abs=0.0006)
        assert numbers(need)[0] == next(n for n in count(1) if binom.pmf(n, n, level / 100) <= 0.05)

    def test_step(self, seed):
        asked, (_, derivatives, _) = answers(13, seed)
        weights, gains = torch.tensor([[float(each) for each in row[1:]] for row in rows(asked)]).T
        scores = weights.log().requires_grad_()
        (scores.softmax(0) @ gains).backward()
        assert numbers(derivatives) == pytest.approx(scores.grad.tolist(), abs=0.0051)
        assert derivatives[-1] == "ABC"[int(scores.grad.argmax())]

    def test_world(self, seed):
        asked, (halves, *_) = answers(17, seed)
        even, answer, odd = (int(each) for each in re.search(r"lo (\d+),.*= (\d+)\? And modulo (\d+)", asked).groups())
        assert numbers(halves) == [x for modulus in (even, odd) for x in range(modulus) if (x + x) % modulus == answer]


def test_command_writes_both_pages(tmp_path, capsys):
    assert main(["--seed", "7", "--chapters", "1 13", "--folder", str(tmp_path)]) == 0
    paper, marks = (tmp_path / "exam.html").read_text(), (tmp_path / "key.html").read_text()
    questions = draw("7", [1, 13])
    assert paper == exam("Exam", questions) and marks == key("Marking key", questions, of := "Seed 7, chapters 1, 13")
    assert f"<p>{of}</p>" in marks and "eed 7" not in paper  # who knows the seed can make the key
    assert "10 points" in paper and "Σ<sub>j</sub>" in paper and "$" not in paper
    assert questions[0].key[2][1].split(", ")[-1] in marks and questions[0].key[2][1] not in paper


BAD = [
    (["--chapters", "14"], "no question on chapter 14"),
    (["--chapters", " "], "at least one"),
    (["--chapters", "x"], "no question on chapter x"),
    (["--chapters", "٣"], "no question on chapter ٣"),
    (["--seed", "8"], "--seed is given twice"),
    (["--chapter", "1"], "unrecognized arguments: --chapter 1"),
]


@pytest.mark.parametrize(("arguments", "words"), BAD)
def test_bad_wishes_are_named(arguments, words, tmp_path, capsys):
    try:
        code = main(["--seed", "7", "--folder", str(tmp_path), *arguments])
    except SystemExit as stop:
        code = stop.code
    assert code == 2
    said = capsys.readouterr().err
    assert words in said and said.count("\n") == 1 and not list(tmp_path.iterdir())
