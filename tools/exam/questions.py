"""The questions: for each chapter a function that draws one from a generator of random numbers, and computes its answer."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from random import Random

LETTERS = "abcdefghijkl"
MODULUS = 59


@dataclass(frozen=True)
class Question:
    """What is asked, in Markdown, and for each part of it the points and the answer that earns them."""

    title: str
    asked: str
    key: tuple[tuple[int, str], ...]

    @property
    def points(self) -> int:
        return sum(points for points, _ in self.key)


QUESTIONS: dict[int, Callable[[Random], Question]] = {}


def of_chapter(number: int):
    def keep(draw):
        QUESTIONS[number] = draw
        return draw

    return keep


def assignments(random: Random, count: int) -> dict[str, int]:
    """Letters with different numbers, in the order in which they are assigned."""
    numbers = random.sample(range(2, MODULUS), count)
    return dict(zip(random.sample(LETTERS, count), numbers, strict=True))


def written(assigned: dict[str, int], question: str) -> str:
    return "`" + ", ".join([f"{letter}={number}" for letter, number in assigned.items()] + [f"{question}=?"]) + "`"


def table(head: list, *rows: list) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n" + "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines) + "\n"


def percent(share: float) -> str:
    return f"{100 * float(share):.0f}%"


def softmax(scores: list[float]) -> list[float]:
    powers = [math.exp(each) for each in scores]
    return [each / sum(powers) for each in powers]


@of_chapter(1)
def without_looking_up(random: Random) -> Question:
    count, typed = random.randint(3, 6), random.randint(2, 58)
    assigned = assignments(random, count)
    letter = random.choice(list(assigned))
    score = sum(Fraction(1, each) for each in range(1, count + 1)) / count
    asked = f"""\
All sums are taken modulo {MODULUS}.

1. Solve {written(assigned, f"{letter}+{typed}")}.
2. A solver ignores the letter in the question: it adds {typed} to one of the assigned numbers, each with equal chance.
   Which answers can it give to this problem, and how often is it right?
3. Now problems come with 1 to {count} assignments, all equally often, and the assigned numbers of a problem differ.
   In which share of these problems is this solver right?
"""
    answers = sorted((number + typed) % MODULUS for number in assigned.values())
    return Question(
        "Right without looking up",
        asked,
        (
            (1, f"{(assigned[letter] + typed) % MODULUS}"),
            (2, f"{', '.join(map(str, answers))}; right once in {count}"),
            (
                2,
                f"the mean of 1, {', '.join(f'1/{each}' for each in range(2, count + 1))}, which is {score}, or {percent(score)}",
            ),
        ),
    )


@of_chapter(2)
def attention_by_hand(random: Random) -> Question:
    query = [random.choice([1, 2, 3]), random.choice([-2, -1, 1, 2])]
    scores = [0, 0, 0]
    while len(set(scores)) < 3 or max(scores) - min(scores) > 4:
        keys = [[random.randint(-1, 1), random.randint(-1, 1)] for _ in range(3)]
        scores = [sum(q * k for q, k in zip(query, key, strict=True)) for key in keys]
    values = random.sample([0, 10, 20, 40, 60, 100], 3)
    weights = softmax(scores)
    result, longer = sum(w * v for w, v in zip(weights, values, strict=True)), softmax([2 * each for each in scores])
    place = scores.index(max(scores))
    asked = f"""\
A token attends to three tokens. Its query is {tuple(query)}; their keys and values are
{table(["token", "key", "value"], *[["ABC"[n], tuple(keys[n]), values[n]] for n in range(3)])}
Scores are dot products, without a scaling. You may use $e$ = 2.718 and a pocket calculator.

1. Compute the three scores, the three attention weights in percent, and what the token receives.
2. The query is made twice as long. Which weight rises, and to how much?
3. Somebody wants to double all three weights in this way. Why can nobody?
"""
    return Question(
        "Attention by hand",
        asked,
        (
            (1, f"scores {scores[0]}, {scores[1]}, {scores[2]}"),
            (2, f"weights {', '.join(map(percent, weights))}; it receives {result:.1f}"),
            (1, f"that of {'ABC'[place]}, from {percent(weights[place])} to {percent(longer[place])}"),
            (1, "weights are shares: they sum to one"),
        ),
    )


@of_chapter(3)
def held_out_pairs(random: Random) -> Question:
    modulus, tenths = random.choice([7, 11, 13, 17]), random.choice([1, 2, 3, 4])
    pairs, twins = modulus * modulus, modulus * (modulus - 1)
    chance = Fraction(10 - tenths, 10)
    asked = f"""\
A network learns sums modulo {modulus}. Of all ordered pairs $(x, y)$ each is held out of training with the chance
{10 * tenths}%, independently of all others.

1. How many ordered pairs are there, and how many of them are their own twin, $(x, x)$?
2. A pair $(x, y)$ with $x \\ne y$ was held out. What is the chance that its twin $(y, x)$ was in training?
3. A network is right on exactly those held-out pairs whose twin it has seen. Which accuracy on held-out pairs do you expect?
   What does it tell about whether the network adds?
"""
    expected = chance * Fraction(twins, pairs)
    return Question(
        "Twins of held-out pairs",
        asked,
        (
            (1, f"{pairs}; {modulus}"),
            (1, f"{percent(chance)}"),
            (2, f"{percent(expected)}: {percent(chance)} of the {twins} of {pairs} pairs that have a twin"),
            (1, "nothing: a network that learned by heart and ignores the order gets it too"),
        ),
    )


@of_chapter(4)
def whose_row(random: Random) -> Question:
    """Three solvers on the same 100 problems of four kinds; whose row is it?"""
    seen, sides = random.randint(6, 8), random.randint(3, 6)
    kinds = ["pairs seen, sides seen", "pairs new, sides seen", "pairs seen, sides new", "both new"]
    rows = {
        "learns pairs by heart and looks letters up anywhere": [100, 0, 100, 0],
        "adds, and looks a letter up only on sides where it has seen it": [100, 100, 0, 0],
        f"adds, and on sides that are new to a letter takes any of the {sides} assigned numbers": [
            100,
            100,
            round(100 / sides),
            round(100 / sides),
        ],
    }
    order = random.sample(list(rows), 3)
    asked = f"""\
Training has shown a network {10 * seen}% of all pairs of numbers, and some letters on one side of the + only. Tests differ in
what is new in them. Three solvers get (in percent)
{table(["solver", *kinds], *[["ABC"[n], *rows[each]] for n, each in enumerate(order)])}
1. Which solver learns pairs by heart, which looks a letter up only on sides where it has seen it, and which then takes any of
   {sides} assigned numbers instead?
2. Which *one* of the four tests, alone, would have told none of these three from a network that has learned everything?
3. A fourth solver has learned everything but sums of a number and itself. Which further test would show it?
"""
    named = {each: "ABC"[n] for n, each in enumerate(order)}
    return Question(
        "Whose row is it?",
        asked,
        (
            (3, "; ".join(f"{named[each]} {each}" for each in rows)),
            (1, f"{kinds[0]}"),
            (1, "one whose problems are all doubles, or accuracy pair by pair"),
        ),
    )


@of_chapter(5)
def wrong_notes(random: Random) -> Question:
    assigned, typed = assignments(random, 4), random.randint(2, 58)
    letters = list(assigned)
    letter = random.choice(letters)
    follower = letters[(letters.index(letter) + 1) % len(letters)]
    unknown = random.choice([each for each in LETTERS if each not in assigned])
    match, place = random.choice([(2, 2), (3, 2), (2, 3)])
    scores = [match if each == letter else 0 for each in letters] + [place]
    weights = softmax(scores)
    asked = f"""\
{written(assigned, f"{letter}+{typed}")}, modulo {MODULUS}. In layer 2, `=` gives a number a score of {match} for a note of the
letter that it asks for, the typed {typed} a score of {place} for its position, and every other number 0. The two numbers with
the largest weights are added.

1. Compute the weights of the five numbers in percent.
2. In layer 1, each number is given the note of the number assigned before it, and the first that of the last. Which answer do
   you expect now, and why?
3. Instead, `=` notes the letter `{unknown}`, which is not assigned. Which answer would a network give that adds the typed
   number to itself where no note matches?
"""
    shown = [f"{number} {percent(weight)}" for number, weight in zip([*assigned.values(), typed], weights, strict=True)]
    return Question(
        "Notes that are wrong",
        asked,
        (
            (2, f"{', '.join(shown)}"),
            (2, f"{(assigned[follower] + typed) % MODULUS}: the note of `{letter}` is now with the {assigned[follower]}"),
            (1, f"{2 * typed % MODULUS}"),
        ),
    )


@of_chapter(6)
def no_sum_without_a_bend(random: Random) -> Question:
    bend, x, y = random.randint(3, 5), random.randint(1, 3), random.randint(1, 3)
    corners = {(a, b): max(a + b - bend, 0) for a, b in product((0, x + 2), (0, y + 2))}
    left, right = x + 2, y + 2
    together = corners[left, right] - corners[left, 0] - corners[0, right] + corners[0, 0]
    asked = f"""\
A neuron gets $x + y - {bend}$, and passes on what is above zero, ReLU$(x + y - {bend})$.

1. What does it pass on for $(0, 0)$, $({left}, 0)$, $(0, {right})$ and $({left}, {right})$?
2. If a number $f(x, y)$ is a part from $x$ plus a part from $y$, then $f({left}, {right}) - f({left}, 0) - f(0, {right}) +
   f(0, 0)$ is 0. Show this in one line, and say what it comes to for the neuron.
3. Somebody reads the residual stream of `=` *before* the neurons, where the parts of $x$ and of $y$ have been added. Why can no
   linear probe read there, for all pairs, whether $x + y$ modulo 59 is 7?
"""
    return Question(
        "No sum without a bend",
        asked,
        (
            (1, f"{corners[0, 0]}, {corners[left, 0]}, {corners[0, right]}, {corners[left, right]}"),
            (2, f"with f = g(x) + h(y) all cancels; for the neuron it is {together}"),
            (
                2,
                "what it reads is a part from x plus a part from y; so two pairs with the sum 7 read together what the two "
                "crossed pairs read, and cannot both be above a threshold that both of these are below",
            ),
        ),
    )


@of_chapter(7)
def clocks(random: Random) -> Question:
    hours = random.choice([7, 11])
    turns = sorted(random.sample(range(1, (hours + 1) // 2), 2))
    x, y = random.randint(1, hours - 1), random.randint(1, hours - 1)
    sums, votes = (x + y) % hours, []
    for answer in range(hours):
        votes.append(sum(math.cos(2 * math.pi * k * (x + y - answer) / hours) for k in turns))
    others = max(vote for answer, vote in enumerate(votes) if answer != sums)
    cosines = [f"{math.cos(2 * math.pi * n / hours):.2f}" for n in range((hours + 1) // 2)]
    asked = f"""\
Numbers live on clocks of {hours} hours. On one clock a number $x$ goes round {turns[0]} hours a step, on the other {turns[1]}.
Each clock votes for an answer $c$ by the cosine of the angle between the hand of $x + y$ and that of $c$. One hour is an angle
of 360/{hours} degrees; the cosines of 0, 1, 2, … hours are {", ".join(cosines)}.

1. At which hour do the hands of $x$ = {x} and $y$ = {y} stand on each clock, and at which that of their sum?
2. How many votes do both clocks together give the right answer, and how many the best wrong one?
3. A clock of {turns[0]} hours a step is taken away, and one of {hours - turns[0]} hours a step is put in its place. What
   changes in the votes?
"""
    stands = "; ".join(f"clock {k}: {k * x % hours}, {k * y % hours}, sum {k * (x + y) % hours}" for k in turns)
    return Question(
        "Two clocks vote",
        asked,
        (
            (2, f"{stands}"),
            (2, f"2 for {sums}; {others:.2f} for the best wrong one"),
            (1, "nothing: it turns the other way round, and a cosine does not see the direction"),
        ),
    )


@of_chapter(8)
def parts_of_a_score(random: Random) -> Question:
    parts = ["its own token", "its note", "the rest"]
    cells = [[random.choice([0, 0, 0, 0.5]) for _ in parts] for _ in parts]
    cells[1][1] = random.choice([2, 2.5, 3])
    others = random.randint(2, 4)
    score = sum(map(sum, cells))
    share = math.exp(score) / (math.exp(score) + others)
    left = math.exp(score - cells[1][1]) / (math.exp(score - cells[1][1]) + others)
    rows = [[f"query: {part}", *row] for part, row in zip(parts, cells, strict=True)]
    asked = f"""\
In layer 2 the query of `=` and the key of a number are sums of three parts each. So the score of the asked number is the sum
of nine products:
{table(["", *[f"key: {part}" for part in parts]], *rows)}
The {others} other numbers have a score of 0.

1. What is the score of the asked number, and its share of the attention?
2. The product of note and note is set to 0. What is its share now?
3. After this, problems with the variable on the left fail, and those with it on the right hardly suffer. Name two explanations
   of the difference, and a measurement that would tell them apart.
"""
    return Question(
        "Where a score comes from",
        asked,
        (
            (1, f"{score:g}, and {percent(share)}"),
            (1, f"{percent(left)}"),
            (
                3,
                "two of: another product carries the letter on the right, its note differs in size, the typed number is found "
                "otherwise (1 each); one that sets a further product to 0 on the right alone, or compares the nine products of "
                "the two sides (1)",
            ),
        ),
    )


@of_chapter(9)
def what_an_experiment_says(random: Random) -> Question:
    assigned, typed = assignments(random, 4), random.randint(2, 58)
    letters = list(assigned)
    letter = random.choice(letters)
    shift = random.choice([1, 2])
    other = letters[(letters.index(letter) + shift) % len(letters)]
    cut, moved = random.randint(5, 9), random.randint(93, 99)
    asked = f"""\
In {written(assigned, f"{letter}+{typed}")} the query of `=` is altered so that it asks for another assigned letter: of the four
it takes the one {["", "that was assigned next", "that was assigned second next"][shift]}, and after the last the first again.

1. Which answer do you expect if letters are matched by name?
2. In one experiment, names are removed from the query, and {cut}% of the answers are right. In the other, names are altered as
   above, and {moved}% of the answers are the sums that the altered letter predicts. Which of the two says more, and why?
3. A friend says that the first experiment alone shows that names are used. Give a rival explanation and the control for it.
"""
    return Question(
        "What an experiment says",
        asked,
        (
            (1, f"{(assigned[other] + typed) % MODULUS}, since the query then asks for `{other}`"),
            (2, "the second: anything may break when it is damaged, but few things give the one answer that was predicted"),
            (2, "any change of this size may do harm (1); a change of the same size in a direction without names (1)"),
        ),
    )


@of_chapter(10)
def how_large_a_score(random: Random) -> Question:
    numbers, share = random.randint(3, 8), random.choice([80, 90, 95, 98])
    need = math.log((numbers - 1) * share / (100 - share))
    asked = f"""\
You write a look-up by hand: of {numbers} assigned numbers, the asked one gets the score $s$, the others 0.

1. How large must $s$ be for the asked number to get {share}% of the attention? Give the formula and one decimal.
2. You want the same share among twice as many numbers. By how much must $s$ grow?
3. A trained network gives its asked number a score of 3. Which share of the attention is that here?
"""
    three = math.exp(3) / (math.exp(3) + numbers - 1)
    grown = math.log((2 * numbers - 1) / (numbers - 1))
    return Question(
        "How large a score?",
        asked,
        (
            (2, f"s = ln({numbers - 1} · {share}/{100 - share}) = {need:.1f}"),
            (2, f"by ln({2 * numbers - 1}/{numbers - 1}) = {grown:.1f}"),
            (1, f"{percent(three)}"),
        ),
    )


@of_chapter(11)
def a_wait(random: Random) -> Question:
    letters, one_sided = random.randint(8, 14), random.randint(2, 6)
    both = Fraction(letters - one_sided, letters)
    asked = f"""\
Of {letters} letters, {one_sided} were seen in training on one side of the + only. Tests ask for them on the other side.

1. A network has learned the look-up on each side separately, letter by letter. Test problems of the form *letter + number*
   draw the letter evenly from all {letters} and the side at random. In which share of them is it asked for a letter on a side
   that is new to it?
2. The accuracy on these stays near zero for some thousand steps and then rises, long after the rest is perfect. Name two
   things that could make it rise, and say what you would do to training to tell them apart.
3. It did so in three of three runs. Why would you still not write *always*?
"""
    share = (1 - both) / 2
    return Question(
        "A wait",
        asked,
        (
            (2, f"{share}, or {percent(share)}: {one_sided} letters of {letters}, and half of the time on the new side"),
            (2, "two that differ (1); an intervention in training at the time, with its control (1)"),
            (1, "three of three also happens once in eight to something that holds in half of all runs"),
        ),
    )


@of_chapter(12)
def what_runs_can_show(random: Random) -> Question:
    runs, level = random.randint(7, 12), random.choice([70, 75, 80, 85, 90])
    need = math.ceil(math.log(0.05) / math.log(level / 100))
    failed = random.randint(1, 2)
    chance = sum(math.comb(runs, k) for k in range(failed + 1)) / 2**runs
    asked = f"""\
A claim was tested on {runs} runs, with a rule that was fixed before.

1. It holds in all {runs}. With what chance does that happen if it is true of a run only as often as not?
2. It holds in all but {failed}. With what chance do {failed} or fewer fail then?
3. How many runs, all of which hold, would you need to rule out, at 5%, that it holds in {level}% of all runs or fewer?
4. The rule was chosen after seeing the {runs} runs. What can the result still be called, and what would make it a test?
"""
    return Question(
        "What runs can show",
        asked,
        (
            (1, f"1 in {2**runs}"),
            (1, f"{chance:.3f}"),
            (2, f"{need}: the first number n with {level / 100:g}^n at most 0.05"),
            (1, "a description; the same rule on fresh runs would be a test"),
        ),
    )


@of_chapter(13)
def one_step(random: Random) -> Question:
    gains = random.sample(range(-2, 5), 3)
    weights = random.choice([[0.5, 0.25, 0.25], [0.6, 0.2, 0.2], [0.4, 0.4, 0.2]])
    mean = sum(w * g for w, g in zip(weights, gains, strict=True))
    rises = [w * (g - mean) for w, g in zip(weights, gains, strict=True)]
    best = "ABC"[rises.index(max(rises))]
    asked = f"""\
`=` attends to three numbers with the weights $a$, and reading number $i$ more would raise the logit of the right answer by
$g_i$ for each unit of weight:
{table(["number", "weight a", "gain g"], *[["ABC"[n], weights[n], gains[n]] for n in range(3)])}
1. Show that the derivative of $\\sum_j a_j g_j$ by the score $s_i$ is $a_i (g_i - \\sum_j a_j g_j)$, with $a$ the softmax of $s$.
2. Compute the three derivatives. Which score rises most in one gradient step?
3. What do the three derivatives sum to, and why must they?
"""
    return Question(
        "One step of the scores",
        asked,
        (
            (2, "by the derivative of the softmax, a_i(δ_ij − a_j), summed over j"),
            (2, f"{', '.join(f'{each:.2f}' for each in rises)}; that of {best}"),
            (1, "0: adding the same number to all scores changes nothing"),
        ),
    )


@of_chapter(17)
def another_world(random: Random) -> Question:
    even, odd = random.choice([58, 60, 62, 64]), random.choice([53, 59, 61])
    answer = 2 * random.randint(2, 20)
    halves = [x for x in range(even) if 2 * x % even == answer]
    odd_half = next(x for x in range(odd) if 2 * x % odd == answer)
    asked = f"""\
The network is to be trained anew in worlds that differ in one thing each.

1. Modulo {even}, for which $x$ is $x + x$ = {answer}? And modulo {odd}?
2. A clock on which numbers go round {even // 2} hours a step is on offer modulo {even}. What can it tell about a number, and
   what not?
3. In a new world all assigned numbers are the same within a problem. Predict what the network learns about letters, and name
   the measurement that would prove you wrong.
"""
    return Question(
        "Another world",
        asked,
        (
            (2, f"{' and '.join(map(str, halves))}; {odd_half} alone"),
            (1, "whether it is even or odd, and nothing else"),
            (2, "no look-up is needed, so none has to be learned (1); a test problem whose numbers differ (1)"),
        ),
    )
