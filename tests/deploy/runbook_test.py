"""Checks the commands that docs/operations.md tells an operator to type, as far as that goes
without Docker and without a cluster: what they name is what deploy/ and the programs have.

Usage: runbook_test.py WARPFOLD_SERVER WARPFOLD_CLI DEPLOY_FOLDER [unittest's arguments]
"""

import re
import shlex
import subprocess
import sys
import unittest
from pathlib import Path

import yaml

SERVER = CLI = ""
DEPLOY = Path(".")

# Of compose and kubectl, what the page uses: options that take a value, and options that do not.
COMPOSE = {"-f": 1, "--profile": 1, "--scale": 1, "--index": 1, "-s": 1, "--build": 0}
KUBECTL = {"-n": 1, "-k": 1, "--previous": 0}
RUN = {"--rm": 0, "--gpus": 1, "-p": 1, "-v": 1}
# Of programs that are not ours, beside those.
OTHERS = {"--prefix", "--component", "--ulimit", "--ipc"}


def spans(page: str) -> list[str]:
    """What stands as code on the page: in backticks, in fences and in indented blocks."""
    fenced = re.findall(r"^```\w*\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    rest = re.sub(r"^```\w*\n.*?^```", "", page, flags=re.MULTILINE | re.DOTALL)
    blocks = fenced + re.findall(r"\n\n((?:    .*\n)+)", rest)
    lines = [line for block in blocks for line in block.replace("\\\n", " ").splitlines()]
    return lines + [" ".join(span.split()) for span in re.findall(r"`([^`]+)`", rest)]


def commands(page: str, *program: str) -> list[list[str]]:
    """The words behind `program` of each command that is one of it."""
    found = []
    for span in spans(page):
        if not re.search(rf"\b{' '.join(program)}\b", span):
            continue
        for command in re.split(r" && | \| |; ", span):
            words = shlex.split(command, comments=True)
            while words and re.match(r"\w+=", words[0]):  # the environment
                del words[0]
            if words[: len(program)] == list(program) and len(words) > len(program):
                found.append(words[len(program) :])
    return found


def split(words: list[str], options: dict[str, int]) -> tuple[list[tuple[str, str]], list[str]]:
    """The options with their values, and the other words. KeyError for one that is not known."""
    given, others = [], []
    rest = iter(words)
    for word in rest:
        if not word.startswith("-"):
            others.append(word)
            continue
        name, _, value = word.partition("=")
        given.append((name, value or (next(rest) if options[name] else "")))
    return given, others


def manifest(name: str):
    return yaml.safe_load((DEPLOY / "kubernetes/base" / name).read_text(encoding="utf-8"))


def services(files) -> dict:
    merged: dict = {}
    for file in files:
        text = (DEPLOY.parent / file).read_text(encoding="utf-8")
        for name, service in yaml.safe_load(text)["services"].items():
            merged[name] = {**merged.get(name, {}), **service}
    return merged


class Runbook(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.page = (DEPLOY / "../docs/operations.md").read_text(encoding="utf-8")
        # What commands without -f are about.
        cls.exported = re.findall(r"`export COMPOSE_FILE=([^`]+)`", cls.page)

    def compose(self):
        """(command, options, words, services) of each, for each set of files it may have."""
        found = commands(self.page, "docker", "compose")
        self.assertGreater(len(found), 5, "the page is read wrongly")
        for command in found:
            options, words = split(command, COMPOSE)
            files = [value for name, value in options if name == "-f"]
            self.assertTrue(files or self.exported, f"{command} is without files")
            for one in [files] if files else [e.split(":") for e in self.exported]:
                yield command, options, words, services(one)

    def test_compose_commands_name_services_that_are_there(self):
        named = {}  # the services that the commands of one kind name, whatever files they have
        for command, options, words, there in self.compose():
            with self.subTest(command=command):
                verb, *rest = words
                self.assertIn(verb, ("up", "logs", "restart", "kill", "ps", "port"))
                profiles = {value for name, value in options if name == "--profile"}
                known = {p for service in there.values() for p in service.get("profiles", [])}
                self.assertLessEqual(profiles, known)
                scaled = [value for name, value in options if name == "--scale"]
                for scale in scaled:
                    self.assertRegex(scale, r"^[\w-]+=\d+$")
                targets = rest[:1] + [scale.partition("=")[0] for scale in scaled]
                for target in targets:
                    runs = target in there and not there[target].get("profiles")
                    named.setdefault(tuple(words), []).append(runs)
                if verb == "port":
                        self.assertEqual("50051", rest[1])
        for words, runs in named.items():
            self.assertTrue(any(runs), f"{words}: no set of files runs that service")

    def test_every_set_of_files_has_a_service_to_name(self):
        self.assertTrue(self.exported)
        for exported in self.exported:
            running = [
                name
                for name, service in services(exported.split(":")).items()
                if name.startswith("server") and not service.get("profiles")
            ]
            with self.subTest(files=exported):
                (name,) = running
                self.assertTrue(name == "server" or f"the service is `{name}`" in self.page)

    def test_kubectl_commands_name_what_the_manifests_have(self):
        found = commands(self.page, "kubectl")
        self.assertGreater(len(found), 4, "the page is read wrongly")
        objects = {"deployment/" + manifest("deployment.yaml")["metadata"]["name"], "POD"}
        for command in found:
            with self.subTest(command=command):
                options, (verb, *rest) = split(command, KUBECTL)
                given = dict(options)
                if verb == "apply":
                    folder = DEPLOY.parent / given["-k"]
                    if given["-k"] != ".":  # behind a `cd` that the page shows
                        self.assertTrue((folder / "kustomization.yaml").is_file())
                    continue
                self.assertIn(verb, ("logs", "get", "describe", "rollout"))
                self.assertEqual(manifest("namespace.yaml")["metadata"]["name"], given.get("-n"))
                kinds = {"get": "pods", "describe": "pod", "rollout": "restart"}
                for word in rest:
                    self.assertIn(word, {kinds.get(verb), *objects})

    def test_kustomize_sets_the_image_that_the_deployment_has(self):
        folders = re.findall(r"^cd (deploy/\S+)", self.page, re.MULTILINE)
        self.assertTrue(folders)
        for folder in folders:
            self.assertTrue((DEPLOY.parent / folder / "kustomization.yaml").is_file())
        pod = manifest("deployment.yaml")["spec"]["template"]["spec"]
        images = {container["image"] for container in pod["containers"]}
        ((*_, image),) = commands(self.page, "kustomize", "edit", "set", "image")
        self.assertIn(image.partition("=")[0], images)

    def test_images_and_ports_are_those_of_the_compose_files(self):
        there = services(["deploy/compose.yaml", "deploy/compose.cpu.yaml"])
        images = {service["image"] for service in there.values() if "image" in service}
        found = commands(self.page, "docker", "run")
        self.assertTrue(found)
        for command in found:
            with self.subTest(command=command):
                own = [word for word in command if word != "--check"]  # that is the server's
                _, (image,) = split(own, RUN)
                self.assertIn(image, images)
        common = yaml.safe_load((DEPLOY / "common.yaml").read_text())["services"]["server"]
        published = [*common["ports"]]
        for service in there.values():
            published += service.get("ports", [])
        ports = {re.search(r":-(\d+)\}:\d+$", port)[1] for port in published}
        for port in re.findall(r"http://127\.0\.0\.1:(\d+)", self.page):
            self.assertIn(port, ports)

    def test_options_and_commands_of_the_programs_exist(self):
        server = subprocess.run([SERVER, "--help"], check=True, stdout=subprocess.PIPE, text=True)
        options = set(re.findall(r"--[a-z][\w-]+", server.stdout))
        for command in commands(self.page, "warpfold"):
            if command[0] in ("and", "or"):
                continue
            with self.subTest(command=command):
                shown = subprocess.run(
                    [CLI, command[0], "--help"], check=True, stdout=subprocess.PIPE, text=True
                ).stdout
                known = set(re.findall(r"--[a-z][\w-]+", shown))
                options |= known
                self.assertLessEqual({w.split("=")[0] for w in command if w[:2] == "--"}, known)
        for span in spans(self.page):
            if span.startswith("--") and span.split("=")[0].split()[0] not in OTHERS:
                self.assertIn(
                    span.split("=")[0].split()[0],
                    {*options, *COMPOSE, *KUBECTL, *RUN},
                )

    def test_paths_and_make_targets_exist(self):
        makefile = (DEPLOY.parent / "Makefile").read_text(encoding="utf-8")
        for command in commands(self.page, "make"):
            target = next(word for word in command if "=" not in word)
            with self.subTest(target=target):
                self.assertRegex(makefile, rf"(?m)^{target}\b.*:")
        for span in spans(self.page):
            for path in re.findall(r"(?<![\w/.])(?:deploy|tests|docs|bench)/[\w./*-]+\w", span):
                with self.subTest(path=path):
                    self.assertTrue(list(DEPLOY.parent.glob(path)))


if __name__ == "__main__":
    SERVER, CLI = sys.argv[1:3]
    DEPLOY = Path(sys.argv[3]).resolve()
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]])
