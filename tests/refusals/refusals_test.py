"""Every refusal of the server keeps its code and its text: golden.tsv.

A test is a function that yields (name of a case, Answer); the golden file has the function's name
before it. run.sh --update writes the file anew; what it changes is a change of the contract.
"""

import drain_scenes
import golden
import infer_faults
import load_scenes
import merge_faults
import message_faults
import pytest
import reduction_faults
import region_faults
import region_scenes
import source_faults
import stream_faults
import well_known_faults
from contract import METHODS

# Asked of one server, one after another.
FAULTS = [
    infer_faults.inference,
    merge_faults.merge,
    message_faults.any_method,
    message_faults.message_bytes,
    message_faults.unknown_method,
    reduction_faults.reduction,
    region_faults.region,
    source_faults.overflow,
    source_faults.too_close,
    source_faults.source,
    stream_faults.ended,
    stream_faults.order,
    stream_faults.tensor,
    stream_faults.write,
    well_known_faults.well_known,
]
# Each with servers of its own.
SCENES = [*drain_scenes.SCENES, *load_scenes.SCENES, *region_scenes.SCENES]


def by_name(functions):
    return pytest.mark.parametrize("function", functions, ids=lambda f: f.__name__)


def check(request, function, cases):
    group = function.__name__
    got = {}
    for name, answer in cases:
        name = f"{group}/{name}"
        assert name not in got, f"two cases are called {name}"
        assert answer.code != "OK", f"{name} is no refusal"
        got[name] = golden.normalised(answer)
    everything = golden.read()
    wanted = golden.of_group(everything, group)
    if request.config.getoption("--update"):
        others = {name: everything[name] for name in everything.keys() - wanted.keys()}
        golden.write(others | got)
        return
    different = golden.differences(wanted, got)
    if different:
        pytest.fail("\n".join(different), pytrace=False)


@by_name(FAULTS)
def test_one_server_refuses_with_the_golden_text(request, client, function):
    check(request, function, function(client))


@by_name(SCENES)
def test_a_server_of_its_own_refuses_with_the_golden_text(request, function):
    check(request, function, function())


def test_the_golden_file_has_no_other_cases():
    groups = {function.__name__ for function in FAULTS + SCENES}
    assert {name.split("/")[0] for name in golden.read()} == groups


def test_every_method_refuses_something():
    asked = {part for name in golden.read() for part in name.split("/")}
    assert METHODS.keys() <= asked


def test_a_text_that_differs_by_a_byte_is_a_difference():
    wanted = golden.read()
    name, answer = next(iter(wanted.items()))
    changed = wanted | {name: answer._replace(text=answer.text[:-1] + "~")}
    (difference,) = golden.differences(changed, wanted)
    assert str(answer) in difference and str(changed[name]) in difference
    assert golden.differences(wanted, wanted) == []
    assert len(golden.differences(wanted, {})) == len(wanted)
