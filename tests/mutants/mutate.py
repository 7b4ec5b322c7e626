"""Where a C++ source can be changed by one operator or constant, and what it becomes.

Text in, text out: no files, no clock, no random numbers but those of a seed.
"""

import bisect
import random
import re
from typing import NamedTuple

# Between blanks, where clang-format puts binary operators: `a < b`, `a * b`, but `List<T>`, `T* x`.
BINARY = {
    "<": ("<=", ">="),
    "<=": ("<", ">"),
    ">": (">=", "<="),
    ">=": (">", "<"),
    "==": ("!=",),
    "!=": ("==",),
    "&&": ("||",),
    "||": ("&&",),
    "+": ("-",),
    "-": ("+",),
    "*": ("/",),
    "/": ("*",),
    "%": ("*",),
    "&": ("|",),
    "|": ("&",),
    "+=": ("-=",),
    "-=": ("+=",),
    "*=": ("/=",),
}
WORDS = {
    "true": ("false",),
    "false": ("true",),
    "std::min": ("std::max",),
    "std::max": ("std::min",),
}
# What is not code, and code where a constant says nothing of behaviour.
MASKED = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(?P<end>[^()\s\\]{0,16})\(.*?\)(?P=end)"|"(?:\\.|[^"\\\n])*"'
    r"|(?<!\w)'(?:\\.|[^'\\\n])+'|^[ \t]*\#(?:[^\n]*\\\n)*[^\n]*|\bstatic_assert\b[^;]*;"
    r"|\.reserve\([^;]*;",
    re.DOTALL | re.MULTILINE,
)
TOKEN = re.compile(
    r"(?P<word>\bstd::(?:min|max)\b|\btrue\b|\bfalse\b)"
    r"|(?<= )(?P<binary><=|>=|==|!=|&&|\|\||\+=|-=|\*=|[<>+\-*/%&|])(?=[ \n])"
    r"|(?P<step>\+\+|--)"
    r"|(?P<negation>!)(?=[\w(*])"
    r"|(?<![\w.'])(?P<number>\d[\d']*)(?![\w.'])"
)


class Site(NamedTuple):
    """One change: bytes `begin` to `end` of the text are `old` and become `new`."""

    begin: int
    end: int
    old: str
    new: str


def masked(text: str) -> str:
    """The text with blanks for what is not to be changed; every offset and line stays."""
    return MASKED.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)


def replacements(match: re.Match) -> tuple:
    old = match[0]
    if match["word"]:
        return WORDS[old]
    if match["binary"]:
        return BINARY[old]
    if match["step"]:
        return ("--",) if old == "++" else ("++",)
    if match["negation"]:
        return ("",)
    value = int(old.replace("'", ""))
    return (str(value + 1), str(value - 1)) if value > 1 else (str(1 - value),)


def sites(text: str) -> list:
    """Every change of one token, in the text's order."""
    found = []
    for match in TOKEN.finditer(masked(text)):
        for new in replacements(match):
            found.append(Site(match.start(), match.end(), match[0], new))
    return found


def apply(text: str, site: Site) -> str:
    assert text[site.begin : site.end] == site.old
    return text[: site.begin] + site.new + text[site.end :]


def place(text: str, site: Site) -> tuple:
    """(line from 1, column from 1, the line without its indentation)."""
    starts = [0, *(match.end() for match in re.finditer("\n", text))]
    line = bisect.bisect_right(starts, site.begin)
    whole = text.splitlines()[line - 1]
    return line, site.begin - starts[line - 1] + 1, whole.strip()


def drawn(texts: dict, seed: int):
    """(path, Site) of all sources in a random order that the seed alone decides.

    First the file is drawn, then the place in it, so that a long file is not drawn more often.
    """
    chance = random.Random(seed)
    left = {path: sites(texts[path]) for path in sorted(texts)}
    while left := {path: of_file for path, of_file in left.items() if of_file}:
        path = chance.choice(list(left))
        yield path, left[path].pop(chance.randrange(len(left[path])))
