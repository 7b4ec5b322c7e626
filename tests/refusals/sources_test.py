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


def says(code, text):
    return golden.Answer(code, "", text)


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

    told = [says("NOT_FOUND", "model_name: there is no ')' of that name")]
    assert first.is_in(told) and not second.is_in(told)
    assert not first.is_in([says("INTERNAL", told[0].text)])
    assert not second.is_in([says("DEADLINE_EXCEEDED", "too late")])
    assert second.is_in([says("DEADLINE_EXCEEDED", text) for text in ("too late", "idle: 1 ms")])


def test_a_refusal_has_the_name_of_its_field_before_it():
    source = """
      if (a) return InvalidField(Field::kOps, absl::StrCat(Name(op), " is listed twice"));
      if (b) return FieldStatus(is_system ? Field::kKey : Field::kHandle,
                                absl::UnimplementedError("is off"));
      if (c) return FieldStatus(Field::kStates, static_cast<int>(i), absl::AbortedError("is old"));
      if (d) return FieldStatus(Field::kTensor, RefusalStatus(NeverFits{}, absl::StrCat(1, " B")));
      if (e) return FieldStatus(Field::kOps, i, ".op", absl::UnknownError("is new"));
      return absl::NotFoundError("is none");
    """
    found = list(refusals_in(source, "a.cc"))
    assert [(r.code, r.text) for r in found] == [
        ("INVALID_ARGUMENT", "ops: * is listed twice"),
        ("UNIMPLEMENTED", "key: is off"),
        ("UNIMPLEMENTED", "handle: is off"),
        ("ABORTED", "states[*]: is old"),
        ("RESOURCE_EXHAUSTED", "tensor: * B"),
        ("UNKNOWN", "ops[*].op: is new"),
        ("NOT_FOUND", "is none"),
    ]
    assert found[0].is_in([says("INVALID_ARGUMENT", "ops: sum is listed twice")])
    assert not found[0].is_in([says("INVALID_ARGUMENT", "axes: 1 is listed twice")])
    assert found[5].is_in([says("UNKNOWN", "ops[2].op: is new")])
    assert not any(refusal.has_choice for refusal in found)
