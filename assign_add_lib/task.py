"""The task: assign numbers to variables, then ask for one sum modulo N."""

import math
import re
from dataclasses import dataclass, field
from functools import cached_property
from numbers import Integral

import torch
from torch import Tensor

from .engine.learner import setting

LARGEST = 1000  # of a task's sizes
KINDS = ("0-var", "1-var left", "1-var right", "2-var")  #: The kinds of problems, by which operands are variables.


def _variable_name(index: int) -> str:
    """Spell variable 0, 1, ... as a, b, ..., z, aa, ab, ..."""
    name = ""
    while index >= 0:
        name = chr(ord("a") + index % 26) + name
        index = index // 26 - 1
    return name


@dataclass(frozen=True)
class Task:
    """The sizes of the task and the meaning of every token id.

    A sequence holds up to `slots` assignments, each a variable and its number, then `+`, the left operand,
    the right operand and `=`.  Token ids: the numbers 0..N-1, then `+`, `=`, `PAD`, then the variables.
    Raises ValueError for sizes that leave no room for a problem with two variables.

    >>> task = Task(n_numbers=5, n_variables=3, length=10)
    >>> task.token_names
    ('0', '1', '2', '3', '4', '+', '=', 'PAD', 'a', 'b', 'c')
    >>> task.slots, task.left, task.right, task.last
    (3, 7, 8, 9)
    """

    n_numbers: int = setting(59, "N, the modulus")
    n_variables: int = setting(12, "V, the variables")
    length: int = setting(16, "T, tokens in a sequence")

    def __post_init__(self):
        for name, least in (("n_numbers", 3), ("n_variables", 2), ("length", 8)):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < least:
                raise ValueError(f"{name} must be a whole number of at least {least}, not {value!r}")
            if value > LARGEST:
                raise ValueError(f"{name} must be a whole number of at most {LARGEST}")

    @classmethod
    def of_sizes(cls, d_vocab: int, length: int, n_numbers: int) -> "Task":
        """The task with these numbers of token ids, positions and answers; ValueError where there is none."""
        try:
            return cls(n_numbers, d_vocab - n_numbers - 3, length)
        except ValueError as error:
            sizes = f"{d_vocab} token ids, {length} positions and {n_numbers} answers"
            raise ValueError(f"no task of this book has {sizes}, as what is asked here needs: {error}") from None

    @property
    def slots(self) -> int:
        """The most assignments that one sequence can hold."""
        return min((self.length - 4) // 2, self.n_variables)

    @property
    def plus(self) -> int:
        """Token id of `+`."""
        return self.n_numbers

    @property
    def equal(self) -> int:
        """Token id of `=`."""
        return self.n_numbers + 1

    @property
    def pad(self) -> int:
        """Token id of `PAD`."""
        return self.n_numbers + 2

    @property
    def first_variable(self) -> int:
        """Token id of the variable `a`; variable v has this id plus v."""
        return self.n_numbers + 3

    @property
    def d_vocab(self) -> int:
        """Number of token ids."""
        return self.first_variable + self.n_variables

    @property
    def room(self) -> int:
        """Number of positions before `+`, which hold the assignments and the PADs."""
        return self.length - 4

    @property
    def left(self) -> int:
        """Position of the left operand."""
        return self.length - 3

    @property
    def right(self) -> int:
        """Position of the right operand."""
        return self.length - 2

    @property
    def last(self) -> int:
        """Position of `=`, where the answer is read."""
        return self.length - 1

    @cached_property
    def variable_names(self) -> tuple[str, ...]:
        """The variables' names, `a` first."""
        return tuple(_variable_name(v) for v in range(self.n_variables))

    @cached_property
    def token_names(self) -> tuple[str, ...]:
        """What each token id stands for, in the order of the ids."""
        return (*map(str, range(self.n_numbers)), "+", "=", "PAD", *self.variable_names)

    def token_name(self, token: int) -> str:
        """What one token id stands for."""
        return self.token_names[int(token)]

    def token(self, symbol: int | str) -> int:
        """The token id of a number or of a variable's name; ValueError for a name that this task does not have."""
        if isinstance(symbol, int):
            return symbol
        if symbol not in self.variable_names:
            raise ValueError(f"{symbol!r} is no variable of this task, which has {', '.join(self.variable_names)}")
        return self.first_variable + self.variable_names.index(symbol)

    def names(self, tokens: Tensor) -> list[str]:
        """What the token ids of one sequence (length,) stand for."""
        return [self.token_name(token) for token in tokens.tolist()]

    def check(self, tokens: Tensor) -> Tensor:
        """The same sequences (batch, length), once they are found to be of this task; ValueError where they are not."""
        if tokens.dim() != 2 or tokens.shape[1] != self.length:
            raise ValueError(f"sequences of this task have shape (batch, {self.length}), not {tuple(tokens.shape)}")
        if not ((tokens[:, self.room] == self.plus) & (tokens[:, self.last] == self.equal)).all():
            raise ValueError(f"position {self.room} must hold + and position {self.last} must hold =, as token ids of this task")
        if not ((0 <= tokens) & (tokens < self.d_vocab)).all():
            raise ValueError(f"token ids of this task go from 0 to {self.d_vocab - 1}")
        return tokens

    def assigned_numbers(self, tokens: Tensor) -> Tensor:
        """Which positions (batch, length) hold an assigned number."""
        return (self.check(tokens) < self.n_numbers) & (torch.arange(self.length, device=tokens.device) < self.room)

    def value_positions(self, tokens: Tensor) -> Tensor:
        """Where the two numbers to add stand: (batch, 2) positions.

        For a constant operand that is the operand's own position, for a variable the position of its assigned number.
        Where a variable is assigned none, these are no numbers to add, and `right_answers` says so.
        """
        own = torch.tensor([self.left, self.right], device=tokens.device)
        operands = self.check(tokens)[:, own]  # (batch, 2)
        found = tokens[:, None, : self.room] == operands[:, :, None]  # (batch, 2, room)
        return torch.where(operands >= self.first_variable, found.int().argmax(2) + 1, own)

    def right_answers(self, tokens: Tensor) -> Tensor:
        """The answers (batch,) of problems given as token ids; -1 where an operand is no number and is assigned none."""
        places, operands = self.value_positions(tokens), tokens[:, self.left : self.last]
        numbers, before = tokens.gather(1, places), tokens.gather(1, places - 1)
        there = (numbers < self.n_numbers) & ((operands < self.n_numbers) | (before == operands))
        return torch.where(there.all(1), numbers.sum(1) % self.n_numbers, -1)

    def kind_of(self, tokens: Tensor) -> Tensor:
        """The kind of each problem (batch,), an index into `KINDS`."""
        left, right = (self.check(tokens)[:, side] >= self.first_variable for side in (self.left, self.right))
        return left + 2 * right.long()


STUDY = Task()


def _shown(text: str) -> str:
    """Quote a piece of the reader's text, shortened so that an error stays one line."""
    return repr(text if len(text) <= 40 else text[:37] + "...")


def _read_symbol(text: str, task: Task, where: str) -> int | str:
    """Read a number or a variable's name; ValueError says what is allowed."""
    if re.fullmatch("[0-9]{1,9}", text):
        if int(text) >= task.n_numbers:
            raise ValueError(f"{where}: the number {int(text)} is out of range; numbers go from 0 to {task.n_numbers - 1}")
        return int(text)
    if text in task.variable_names:
        return text
    raise ValueError(
        f"{where}: {_shown(text)} is neither a number from 0 to {task.n_numbers - 1} "
        f"nor a variable from {task.variable_names[0]} to {task.variable_names[-1]}"
    )


def _is_number(value: object, task: Task) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool) and 0 <= value < task.n_numbers


@dataclass(frozen=True)
class Problem:
    """One problem: assignments of numbers to variables, and a left and a right operand.

    An operand is a number, or the name of an assigned variable.  `Problem((("c", 1), ("b", 17)), "b", 19)` is
    `c=1, b=17, b+19=?`.  Raises ValueError for a problem that the task cannot express.

    >>> problem = Problem.parse("c=1, b=17, b+19=?")
    >>> problem.answer, problem.kind
    (36, '1-var left')
    >>> problem.tokens()
    tensor([64,  1, 63, 17, 61, 61, 61, 61, 61, 61, 61, 61, 59, 63, 19, 60])
    >>> problem.task.names(problem.tokens())[-4:]
    ['+', 'b', '19', '=']
    """

    assignments: tuple[tuple[str, int], ...]
    left: int | str
    right: int | str
    task: Task = field(default=STUDY, repr=False)

    def __post_init__(self):
        task, assigned = self.task, [variable for variable, _ in self.assignments]
        for variable, value in self.assignments:
            if variable not in task.variable_names:
                raise ValueError(f"{variable!r} is not a variable; variables go from a to {task.variable_names[-1]}")
            if assigned.count(variable) > 1:
                raise ValueError(f"the variable {variable} is assigned twice; each variable takes one number")
            if not _is_number(value, task):
                raise ValueError(f"{variable}={value}: numbers go from 0 to {task.n_numbers - 1}, and are whole")
        if len(assigned) > task.slots:
            raise ValueError(f"{len(assigned)} assignments do not fit; a sequence holds at most {task.slots}")
        for side, operand in (("left", self.left), ("right", self.right)):
            if isinstance(operand, str):
                if operand not in assigned:
                    known = ", ".join(assigned) or "none"
                    raise ValueError(f"the {side} operand {operand} is never assigned; assigned variables: {known}")
            elif not _is_number(operand, task):
                numbers = f"numbers go from 0 to {task.n_numbers - 1}, and are whole"
                raise ValueError(f"the {side} operand {operand} is out of range; {numbers}")

    @classmethod
    def parse(cls, text: str, task: Task = STUDY) -> "Problem":
        """Read a problem as people write it: `c=1, b=17, b+19=?`.

        Commas, semicolons or line breaks part the pieces; the sum comes last; spaces, capitals and the closing
        `=?` are free.  Raises ValueError with one line that says what was wrong and what is allowed.
        """
        if not text.isascii():
            raise ValueError(f"the problem holds a character outside ASCII: {ascii(text[:40])}; write it like c=1, b=17, b+19=?")
        pieces = [re.sub(r"\s+", " ", piece) for piece in re.split(r"\s*[,;\n]\s*", text.lower().strip())]
        while pieces and not pieces[-1]:
            pieces.pop()
        if not pieces:
            raise ValueError("the problem is empty; write it like c=1, b=17, b+19=?")
        *heads, question = pieces
        assignments = []
        for place, piece in enumerate(heads, start=1):
            where = f"assignment {place}"
            match = re.fullmatch(r"([a-z]+) ?= ?(\S+)", piece)
            if not match:
                raise ValueError(f"{where}: {_shown(piece)} does not read as variable=number; the sum comes last, and once")
            variable, value = (_read_symbol(part, task, where) for part in match.groups())
            if isinstance(value, str):
                raise ValueError(f"{where}: {_shown(piece)} sets a variable to a variable; a variable takes a number")
            assignments.append((variable, value))
        match = re.fullmatch(r"([^+=?]*)\+([^+=?]*)=? ?\??", question)
        if not match:
            raise ValueError(f"the last piece must be one sum of two operands such as b+19=?, not {_shown(question)}")
        left, right = (
            _read_symbol(part.strip(), task, f"{side} operand") for side, part in zip(("left", "right"), match.groups())
        )
        return cls(tuple(assignments), left, right, task)

    @classmethod
    def from_tokens(cls, tokens: Tensor, task: Task = STUDY) -> "Problem":
        """Read a problem back from its token ids (length,); ValueError where they do not spell one."""
        if len(tokens) != task.length:
            raise ValueError(f"a sequence has {task.length} tokens, not {len(tokens)}")
        ids = [int(token) for token in tokens]
        if not all(0 <= i < task.d_vocab for i in ids):
            raise ValueError(f"token ids go from 0 to {task.d_vocab - 1}")
        if ids[task.room] != task.plus or ids[task.last] != task.equal:
            raise ValueError(f"position {task.room} must hold + and position {task.last} must hold =")
        symbols = [i if i < task.n_numbers else task.token_name(i) for i in ids]
        head, assignments, place = symbols[: task.room], [], 0
        while place < task.room:
            if head[place] == "PAD":
                place += 1
            elif head[place] in task.variable_names and place + 1 < task.room and isinstance(head[place + 1], int):
                assignments.append((head[place], head[place + 1]))
                place += 2
            else:
                raise ValueError(f"position {place} holds {head[place]}, where a variable with its number or a PAD must stand")
        return cls(tuple(assignments), symbols[task.left], symbols[task.right], task)

    def __str__(self) -> str:
        return ", ".join([*(f"{variable}={value}" for variable, value in self.assignments), f"{self.left}+{self.right}=?"])

    @property
    def values(self) -> tuple[int, int]:
        """The two numbers to add, each variable replaced by its number."""
        numbers = dict(self.assignments)
        return tuple(numbers.get(operand, operand) for operand in (self.left, self.right))

    @property
    def answer(self) -> int:
        """The sum modulo N."""
        return sum(self.values) % self.task.n_numbers

    @property
    def kind(self) -> str:
        """One of `KINDS`: which operands are variables."""
        return KINDS[isinstance(self.left, str) + 2 * isinstance(self.right, str)]

    def tokens(self, seed: int | None = None) -> Tensor:
        """Token ids (length,): assignments packed to the left, or with PADs spread among them by the seed."""
        task, n = self.task, len(self.assignments)
        n_pads = task.room - 2 * n
        if seed is None:
            pads_before = torch.zeros(n, dtype=torch.long)
        else:
            gap = torch.randint(n + 1, (n_pads,), generator=torch.Generator().manual_seed(seed))
            pads_before = torch.bincount(gap, minlength=n + 1).cumsum(0)[:n]
        tokens = torch.full((task.length,), task.pad)
        for slot, (variable, value) in enumerate(self.assignments):
            start = 2 * slot + int(pads_before[slot])
            tokens[start], tokens[start + 1] = task.token(variable), value
        tokens[task.room :] = torch.tensor([task.plus, task.token(self.left), task.token(self.right), task.equal])
        return tokens


def draw_share(sizes: tuple[int, ...], seed: int, train_fraction: float) -> Tensor:
    """Which pairs of numbers (N, N), or triples (N, N, N), training may see: floor(train_fraction N^2) of them at random."""
    if not 0 < train_fraction <= 1:
        raise ValueError(f"train_fraction must be above 0 and at most 1, not {train_fraction!r}")
    n = math.prod(sizes)
    n_train = math.floor(train_fraction * n + 1e-9)  # a product such as 0.07 * 100 falls just below a whole number
    if n_train == 0:
        kind = "pairs" if len(sizes) == 2 else "triples"
        raise ValueError(f"train_fraction {train_fraction} leaves none of the {n} {kind} to train on")
    order = torch.randperm(n, generator=torch.Generator().manual_seed(seed))
    return torch.zeros(n, dtype=torch.bool).index_fill(0, order[:n_train], True).view(sizes)


@dataclass(frozen=True, eq=False)
class Split:
    """What training may see: which ordered pairs of numbers, and which variables on which side.

    `train_pairs` (N, N) is true where the ordered pair (x, y) may be added in training, in any form.  Variables
    (by index) in `never_right` are never the right operand in training, those in `never_left` never the left.

    >>> split = Split.draw(Task(n_numbers=5, n_variables=6), seed=1, train_fraction=0.6)
    >>> int(split.train_pairs.sum()), int(split.held_out_pairs.sum())
    (15, 10)
    >>> split.never_right, split.variables("right")
    ((0,), (1, 2, 3, 4, 5))
    """

    task: Task
    train_pairs: Tensor
    never_right: tuple[int, ...]
    never_left: tuple[int, ...]

    @classmethod
    def draw(cls, task: Task = STUDY, seed: int = 0, train_fraction: float = 0.7) -> "Split":
        """Draw floor(train_fraction N^2) training pairs at random; restrict the first and last V/6 variables."""
        n_restricted = max(1, task.n_variables // 6)
        variables, train_pairs = tuple(range(task.n_variables)), draw_share((task.n_numbers,) * 2, seed, train_fraction)
        return cls(task, train_pairs, variables[:n_restricted], variables[-n_restricted:])

    def to_dict(self) -> dict:
        """The split as plain values, the training pairs as the hexadecimal digits of one bit a pair."""
        bits = "".join("1" if pair else "0" for pair in self.train_pairs.flatten().tolist())
        return {
            "train_pairs": f"{int(bits, 2):0{math.ceil(len(bits) / 4)}x}",
            "never_right": list(self.never_right),
            "never_left": list(self.never_left),
        }

    @classmethod
    def from_dict(cls, task: Task, values: dict) -> "Split":
        """Read back what `to_dict` wrote; ValueError or KeyError where it is anything else."""
        n_pairs, digits = task.n_numbers**2, values["train_pairs"]
        if not isinstance(digits, str) or not re.fullmatch("[0-9a-f]+", digits):
            raise ValueError("the pairs of the split are not hexadecimal digits")
        bits = f"{int(digits, 16):0{n_pairs}b}"
        if len(bits) != n_pairs or len(digits) != math.ceil(n_pairs / 4):
            raise ValueError(f"the split holds {len(bits)} pairs of numbers, not {n_pairs}")
        if "1" not in bits:
            raise ValueError("the split holds no pair of numbers to train on")
        for name in ("never_right", "never_left"):
            variables = values[name]
            if not isinstance(variables, list) or not all(type(v) is int and 0 <= v < task.n_variables for v in variables):
                raise ValueError(f"{name} of the split is not a list of variables by index")
            if variables != sorted(set(variables)):
                raise ValueError(f"{name} of the split is not in order")
        train_pairs = torch.tensor([bit == "1" for bit in bits]).view(task.n_numbers, -1)
        return cls(task, train_pairs, tuple(values["never_right"]), tuple(values["never_left"]))

    @property
    def held_out_pairs(self) -> Tensor:
        """The pairs (N, N) that training never adds."""
        return ~self.train_pairs

    def variables(self, side: str) -> tuple[int, ...]:
        """The variables that training puts on a side, `left` or `right`."""
        barred = {"left": self.never_left, "right": self.never_right}[side]
        return tuple(v for v in range(self.task.n_variables) if v not in barred)
