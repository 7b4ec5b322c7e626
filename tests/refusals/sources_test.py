"""Every refusal in the sources is in the golden file, or unreached.tsv says why it is not.

A line of unreached.tsv: code, text as sources.py has it, why. A reason "golden: NAME" is for a
text that the source puts together elsewhere: that case has it.
"""

from pathlib import Path

import golden
from sources import refusals, refusals_in

FILE = Path(__file__).with_name("unreached.tsv")


def reasons():
    lines = [line.split("\t") for line in FILE.read_text(encoding="utf-8").splitlines()]
    assert lines == sorted(lines)
    return {(code, text): reason for code, text, reason in lines}


def test_every_refusal_is_in_the_golden_file_or_has_a_reason():
    answers = set(golden.read().values())
    found = list(refusals())
    assert len(found) > 150, "the sources do not look like the server's"
    known = reasons()
    reached = [refusal for refusal in found if refusal.is_in(answers)]
    missing = [r for r in found if not r.is_in(answers) and (r.code, r.text) not in known]
    print(f"{len(found)} refusals, {len(reached)} of them in the golden file by their texts")
    assert not missing, "\n".join(f"{r.place}\t{r.code}\t{r.text}" for r in missing)


def test_every_reason_is_needed():
    answers = set(golden.read().values())
    needed = {(r.code, r.text) for r in refusals() if not r.is_in(answers)}
    assert reasons().keys() <= needed


def test_cases_that_reasons_name_are_there():
    names = golden.read().keys()
    for reason in reasons().values():
        if reason.startswith("golden: "):
            assert reason.removeprefix("golden: ").split(";")[0] in names, reason


def test_a_refusal_that_nobody_tells_is_found():
    source = """
      absl::Status Wrong(absl::string_view what) { return absl::OkStatus(); }  // absl::XError("a")
      if (x) return absl::NotFoundError(
          absl::StrCat("name: there is no ", Quoted(")"), " of "
                       "that name"));
      return absl::DeadlineExceededError(late ? "too late" : absl::StrCat("idle: ", 1, " ms"));
    """
    first, second = refusals_in(source, "a.cc")
    assert first[:3] == ("a.cc:3", "NOT_FOUND", "name: there is no *)* of that name")
    assert second[:3] == ("a.cc:6", "DEADLINE_EXCEEDED", "too late*idle: * ms")

    def says(code, text):
        return golden.Answer(code, "", text)

    told = [says("NOT_FOUND", "model_name: there is no ')' of that name")]
    assert first.is_in(told) and not second.is_in(told)
    assert not first.is_in([says("INTERNAL", told[0].text)])
    assert not second.is_in([says("DEADLINE_EXCEEDED", "too late")])
    assert second.is_in([says("DEADLINE_EXCEEDED", text) for text in ("too late", "idle: 1 ms")])
