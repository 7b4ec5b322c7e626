"""The rule on READMEs: each folder says what it is, and where a newcomer starts."""

from pathlib import PurePosixPath

README_LINES_MAX = 20  # a guide to a folder; who wants more opens the files that it names

# Folders, each with those below it, that have no README, and why.
# (.ci is not in the tree: every file there is a shell script to `make lint`; see tests/ci.)
WITHOUT_README = {
    "bench/results": "holds what benches wrote; bench/README.md says so",
    "client/python/warpfold": "goes into the wheel with all its files; see client/README.md",
    "deploy/grafana": "is mounted into Grafana, and read by kustomize; see deploy/README.md",
    "deploy/kubernetes/base": "is read by kustomize; see deploy/kubernetes/README.md",
    "deploy/kubernetes/monitoring": "is read by kustomize; see deploy/kubernetes/README.md",
    "deploy/kubernetes/overlays": "is read by kustomize; see deploy/kubernetes/README.md",
    "deploy/prometheus": "is mounted into Prometheus; see deploy/README.md",
    "docs/dashboards": "holds pictures that scripts drew; docs/README.md says so",
    "docs/pictures": "holds pictures that scripts drew; docs/README.md says so",
    "docs/plots": "holds pictures that scripts drew; docs/README.md says so",
    "tests/fuzz/corpus": "holds inputs of the fuzz targets; see tests/fuzz",
    "examples/kernels": "has a row for each file in examples/README.md; tests/examples compares",
    "examples/reduce": "has a row for each file in examples/README.md; tests/examples compares",
}
# READMEs that are more than a guide to the folder, and what.
LONG_READMES = {
    "client/python": "the package's page on an index",
    "tests/attacks": "how to run an attack and how to write one",
}
# What an operator puts there is not tracked (deploy/compose.tls.yaml).
UNTRACKED = ("deploy/secrets",)


def below(folder: str, folders):
    """The one of `folders` in which `folder` lies, or None."""
    return next((f for f in folders if PurePosixPath(folder).is_relative_to(f)), None)


def folder_has_readme(tree, folder: str):
    """Each folder has a README.md of a few lines, but for those that are listed with a reason."""
    if below(folder, UNTRACKED):
        return
    exempt = below(folder, WITHOUT_README)
    text = tree.files.get(f"{folder}/README.md")
    if exempt and text is not None:
        yield f"has a README.md, but {exempt} {WITHOUT_README[exempt]}"
    if exempt:
        return
    if text is None:
        yield "has no README.md that says what it is and where to start"
    elif folder not in LONG_READMES and text.count("\n") > README_LINES_MAX:
        yield f"has a README.md of {text.count(chr(10))} lines, more than {README_LINES_MAX}"
