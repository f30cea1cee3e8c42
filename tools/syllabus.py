"""The hours of the syllabuses: `python tools/syllabus.py` writes them into teaching/lecturers/course.md, week by week.

A week names what is read before class and afterwards, and which exercises are done at home. Its minutes are those that the
pages state, those at the exercises, and those that the week itself gives in brackets for other work; its hours add a quarter.
"""

import re

from minutes import ASKED, ROOT, measure

COURSE = ROOT / "teaching/lecturers/course.md"
SLACK = 1.25
WEEK = re.compile(r"(?m)^\| (?P<week>\d+) \([\d.]+ h\) (?P<row>\| (?P<before>[^|]+) \|[^|]+\| (?P<after>[^|]+) \|.+)$")
TIMES = re.compile(r"(?m)^\| (?P<week>\d+) \| (?P<reading>[\d +]+) \| (?P<home>[^|]+) \| \d+ \|$")
GROUP = re.compile(r"(?P<what>[^;(]*(?:\([^)\d][^)]*\))?[^;(]*)\((?P<minutes>\d+)\)")
EXERCISE = re.compile(r"(\d+)\.(\d+)(?: to \1\.(\d+))?")
TO_READ = re.compile(r"\d+(?= (?:minutes )?for chapter (\d+))")


def chapter(number: int) -> str:
    """The text of a chapter."""
    return next(ROOT.glob(f"chapters/{number:02}_*.md")).read_text("utf-8")


def reading(read: str) -> list[int]:
    """The minutes of the pages that a week reads, each whole and once: chapters by number, and the algorithm page."""
    pages = re.findall(r"(?<![\w/])\d+\b|the algorithm page", re.sub(r"none( \([^)]*\))?", "", read))
    texts = [(ROOT / "pages/algorithm.md").read_text("utf-8") if p[0] == "t" else chapter(int(p)) for p in dict.fromkeys(pages)]
    return [measure(each).minutes for each in texts] or [0]


def at_home(what: str) -> int | None:
    """The minutes of the exercises in a list such as `1.1, 1.3 to 1.4`; none where it lists something else."""
    asked = EXERCISE.findall(what)
    if not asked:
        return None
    total = 0
    for number, first, last in asked:
        minutes = [int(each) for each in ASKED.findall(chapter(int(number)))]
        total += sum(minutes[int(first) - 1 : int(last or first)])
    return total


def computed(course: str) -> str:
    """The page with every minute and hour as its weeks and the pages of the book give them."""
    head, *parts = re.split(r"(?m)^(?=## Syllabus)", course)
    return head + "".join(map(syllabus, parts))


def syllabus(text: str) -> str:
    """One syllabus: the table of its weeks, and below it that of their times."""
    read = {found["week"]: reading(f"{found['before']}, {found['after']}") for found in WEEK.finditer(text)}
    hours = {}

    def times(found):
        home = GROUP.sub(lambda group: f"{group['what']}({minutes_of(group)})", found["home"])
        total = sum(read[found["week"]]) + sum(int(each["minutes"]) for each in GROUP.finditer(home))
        hours[found["week"]] = SLACK * total / 60
        return f"| {found['week']} | {' + '.join(map(str, read[found['week']]))} | {home} | {total} |"

    text = TIMES.sub(times, text)
    text = WEEK.sub(lambda found: f"| {found['week']} ({hours[found['week']]:.1f} h) {found['row']}", text)
    return TO_READ.sub(lambda found: str(measure(chapter(int(found[1]))).minutes), text)


def minutes_of(group: re.Match) -> int:
    found = at_home(group["what"])
    return int(group["minutes"]) if found is None else found


if __name__ == "__main__":
    COURSE.write_text(computed(COURSE.read_text("utf-8")), "utf-8")
    for title, weeks in re.findall(r"(?ms)^## Syllabus for (.+?)\n(.*?)(?=^## |\Z)", COURSE.read_text("utf-8")):
        hours = [float(each) for each in re.findall(r"(?m)^\| \d+ \(([\d.]+) h\)", weeks)]
        print(f"{title}: {sum(hours):.0f} hours, {min(hours)} to {max(hours)} a week")
