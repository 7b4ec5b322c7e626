"""The refusals that the sources of the server make: where, with which code and with what text."""

import re
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
FOLDERS = ("server/frontend", "server/core", "server/device", "kernels")
SUFFIXES = {".h", ".cc", ".cu", ".cuh"}
# Functions that make one, and those of single files that only put a field before the text.
MAKERS = re.compile(
    r"\b(?:absl::(?P<error>\w+)Error"
    r"|(?P<helper>InvalidField|RefusalStatus|StartingStatus|Wrong|Malformed)"
    r"|(?P<status>absl::Status|grpc::Status))\("
)
HELPER_CODES = {
    "InvalidField": "INVALID_ARGUMENT",
    "RefusalStatus": "RESOURCE_EXHAUSTED",
    "StartingStatus": "UNAVAILABLE",
    "Wrong": "INVALID_ARGUMENT",
    "Malformed": "INVALID_ARGUMENT",
}
FIELD_STATUS = "FieldStatus("  # puts a field's name before the refusal that it is given
FIELD_NAMES = dict(
    re.findall(
        r'\{Field::(k\w+), "(.+?)"\}',
        (ROOT / "kernels/field_error.cc").read_text(encoding="utf-8"),
    )
)
LITERAL = re.compile(r'"((?:\\.|[^"\\])*)"')
ANY = "*"  # what a text has where the source has no literal; as a code: that of another status


class Refusal(NamedTuple):
    place: str  # file:line
    code: str
    text: str  # its literals, with ANY between them; without any, its expression
    literals: list
    has_choice: bool  # of the literals not all are in one text

    def is_in(self, answers):
        """Whether a server has said so. Where only the other protocol has the field, it renames."""
        literals = [re.escape(re.sub(r"^memory\.name: ", "", text)) for text in self.literals]
        patterns = literals if self.has_choice else [".*".join(literals)]
        texts = [a.text for a in answers if self.code in (ANY, a.code)]
        return any(re.search("[a-z]", text) for text in literals) and all(
            any(re.search(pattern, text) for text in texts) for pattern in patterns
        )


def without_comments(text):
    """Lines keep their numbers; a '//' in a literal is none."""
    pattern = re.compile(r'//[^\n]*|"(?:\\.|[^"\\\n])*"')
    return pattern.sub(lambda m: m[0] if m[0][0] == '"' else "", text)


def arguments(text, start):
    """What stands between the '(' before `start` and its ')'."""
    depth, at = 1, start
    while depth:
        if text[at] == '"':
            at = LITERAL.match(text, at).end()
            continue
        depth += (text[at] == "(") - (text[at] == ")")
        at += 1
    return text[start : at - 1]


def literals_of(inside):
    """Those of an expression; neighbours are one."""
    literals, end = [], None
    for match in LITERAL.finditer(inside):
        text = match[1].encode().decode("unicode_escape")
        if end is not None and not inside[end : match.start()].strip():
            literals[-1] += text
        else:
            literals.append(text)
        end = match.end()
    return literals


def code_of(match, inside):
    """As google.rpc.Code spells it; None: it makes no refusal."""
    if match["helper"]:
        return HELPER_CODES[match["helper"]]
    name = match["error"]
    if match["status"]:
        found = re.match(r"(?:absl|grpc)::StatusCode::k?(\w+)", inside)
        if found is None:
            return ANY if re.match(r"[\w.>()-]*code\(\),|static_cast", inside) else None
        name = found[1]
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).upper()


def fields_of(text, match, inside):
    """What stands before a refusal's text: nothing, a field's name, or those of a choice."""
    first, index = "", ""
    if match["helper"] == "InvalidField":
        first = inside.partition(",")[0]
    before, call, between = text[: match.start()].rpartition(FIELD_STATUS)
    start = len(before + call)
    if call and match.start() < start + len(arguments(text, start)):
        first, _, between = between.partition(",")
        member = "".join(literals_of(between))
        index = f"[{ANY}]{member}" if between.strip() else ""
    return [f"{FIELD_NAMES[name]}{index}: " for name in re.findall(r"\bField::(\w+)", first)]


def behind(name, literals, inside):
    """The literals of a text that the name of a field stands before."""
    names = name.split(ANY)
    if re.match(r'[^"(]*(absl::StrCat\(\s*)?"', inside):
        return [*names[:-1], names[-1] + literals[0], *literals[1:]]
    return [*names, *literals]


def refusals_in(source, path):
    """Those of a file's text."""
    text = without_comments(source)
    for match in MAKERS.finditer(text):
        if re.search(r"(Status|Error)\s$", text[: match.start()]):
            continue  # a function's declaration
        inside = arguments(text, match.end())
        code = code_of(match, inside)
        if code is None:
            continue
        fields = fields_of(text, match, inside)
        if match["helper"] == "InvalidField":
            inside = inside.partition(",")[2]
        found = literals_of(inside)
        for name in fields if found and fields else [""]:
            literals = behind(name, found, inside) if name else found
            yield Refusal(
                f"{path}:{text.count(chr(10), 0, match.start()) + 1}",
                code,
                ANY.join(literals) or f"<{' '.join(inside.split())}>",
                literals,
                "?" in LITERAL.sub("", inside),
            )


def refusals():
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in SUFFIXES:
                name = path.relative_to(ROOT).as_posix()
                yield from refusals_in(path.read_text(encoding="utf-8"), name)
