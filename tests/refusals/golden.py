"""The golden file: every refusal by its case's name, and how it differs from what a server said."""

import re
import json
from pathlib import Path
from typing import NamedTuple

FILE = Path(__file__).with_name("golden.tsv")


class Answer(NamedTuple):
    code: str  # of google.rpc.Code; ITEM: what ModelStreamInfer says in error_message, without one
    retry: str  # "later": a trailer and a detail say when; "": none of them is there
    text: str

    def __str__(self):
        return f"{self.code} {self.retry or '-'} {self.text}"


# What is chance in a text, and what stands for it. gRPC and the server both watch a deadline while
# a stream is read: whose clock is first tells it in its own words.
NORMALISED = {"the deadline has passed": "Deadline Exceeded"}


# gRPC's own words where newer ones than 1.51 have others: it ends what it cannot decompress by a
# status, where 1.51 resets the stream.
OF_NEWER_GRPC = "SERVER: Received message larger than max", "Received message larger than max"
NOT_DECOMPRESSED = "Unexpected error decompressing data for algorithm gzip"
RESET = "RESET", "", "HTTP/2 error 2"


def normalised(answer):
    if answer.text == NOT_DECOMPRESSED:
        return Answer(*RESET)
    text = NORMALISED.get(answer.text, answer.text).replace(*OF_NEWER_GRPC)
    return answer._replace(text=re.sub(r"(this server has )\w+(, \w+)+$", r"\1...", text))


def read(file=FILE):
    """{name: Answer} of all lines."""
    answers = {}
    for line in file.read_text(encoding="utf-8").splitlines():
        name, code, retry, text = line.split("\t")
        answers[name] = Answer(code, retry, json.loads(f'"{text}"'))
    return answers


def write(answers, file=FILE):
    """One line an answer, sorted by name. Control characters and quotes are escaped as in JSON."""
    lines = [
        "\t".join([name, code, retry, json.dumps(text, ensure_ascii=False)[1:-1]])
        for name, (code, retry, text) in sorted(answers.items())
    ]
    file.write_text("".join(line + "\n" for line in lines), encoding="utf-8")


def of_group(answers, group):
    return {name: answer for name, answer in answers.items() if name.split("/")[0] == group}


def differences(wanted, got):
    """A text for each case that differs, with both answers."""
    return [
        f"{name}\n  golden: {wanted.get(name, 'has no such case (tests/refusals/run.sh --update)')}"
        f"\n  server: {got.get(name, 'was not asked')}"
        for name in sorted(wanted.keys() | got.keys())
        if wanted.get(name) != got.get(name)
    ]
