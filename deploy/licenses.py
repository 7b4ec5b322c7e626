#!/usr/bin/env python3
"""Writes the licences of what deploy/stage.sh copied, from the packages' own copyright files.

Usage: deploy/licenses.py DESTINATION < LIST

LIST has one line `NAME<TAB>PATH` for each program and library that lies in DESTINATION, by the
file that it was copied from. DESTINATION/THIRD_PARTY_LICENSES then names, for each library in
DESTINATION/lib, its Debian or Ubuntu package, and holds the copyright files of these packages, of
the packages whose headers and static libraries are compiled in (the -dev packages of
deploy/packages.txt), and the licences that those files refer to. NVIDIA's CUDA runtime, shared or
compiled in, is named with its licence.

Exit code 1: a library belongs to no package and is neither ours nor NVIDIA's; a package has no
copyright file; DESTINATION/lib has a library that LIST does not name. One line says which.
"""

import re
import subprocess
import sys
from pathlib import Path

DOC, COMMON = Path("/usr/share/doc"), Path("/usr/share/common-licenses")
PACKAGES = Path(__file__).resolve().with_name("packages.txt")
OURS = re.compile(r"libwarpfold_\w+\.so")
CUDA_RUNTIME = re.compile(r"libcudart\.so")
# Where a toolkit may keep its licence, beside the folder lib64 of its runtime.
EULA_FILES = ("EULA.txt", "doc/EULA.txt", "LICENSE")
EULA_NOTE = """\
NVIDIA CUDA runtime (libcudart). Copyright NVIDIA Corporation. Licensed under the License Agreement
for NVIDIA Software Development Kits with the CUDA Toolkit supplement ("EULA"),
https://docs.nvidia.com/cuda/eula/, whose Attachment A names libcudart among the files that may be
distributed with an application."""
RULE = "=" * 100


class Unlicensed(Exception):
    """What has no licence that could be written down."""


def output_of(*command: str) -> str:
    """What the command prints, whatever its exit code: dpkg may answer part of a question."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    return done.stdout


def names_of(path: str):
    """The names under which dpkg may know the file: some have /usr before them, some not."""
    real = str(Path(path).resolve())
    return [path, real, f"/usr{path}", f"/usr{real}", real.removeprefix("/usr")]


def owners_of(paths):
    """path -> the package that owns the file, for those that one owns."""
    names = [name for path in paths for name in names_of(path)]
    answer = output_of("dpkg", "-S", *names)
    # "package:amd64: /path", or "package, other: /path" for a file of several.
    answers = re.findall(r"^([^:,\s]+).*?: (/.*)$", answer, re.MULTILINE)
    found = {name: package for package, name in answers}
    return {
        path: found[name] for path in paths for name in reversed(names_of(path)) if name in found
    }


def version_of(package: str) -> str:
    return output_of("dpkg-query", "-W", "-f", "${Version}", package)


def copyright_of(package: str) -> str:
    file = DOC / package / "copyright"
    if not file.exists():
        raise Unlicensed(f"package {package} has no {file}")
    return file.read_text(encoding="utf-8", errors="replace").strip()


def compiled_in(packages: Path = PACKAGES):
    """The packages whose headers and static libraries our programs are built with."""
    found = []
    for line in map(str.strip, packages.read_text(encoding="utf-8").splitlines()):
        if line.startswith("-r "):
            found += compiled_in(packages.with_name(line.removeprefix("-r ").strip()))
        elif re.fullmatch(r"[a-z][a-z0-9+.-]*-dev", line):
            found.append(line)
    return found


def holds_cuda_runtime(path: str) -> bool:
    """Whether the program or library has NVIDIA's static runtime in it."""
    symbols = output_of("nm", "--defined-only", path)
    return re.search(r" cudaGetDeviceCount$", symbols, re.MULTILINE) is not None


def cuda_licence(path: str) -> str:
    """The toolkit's licence, or a note where the toolkit comes without one."""
    for folder in Path(path).resolve().parents:
        for name in EULA_FILES:
            file = folder / name
            if folder.name.startswith("cuda") and file.is_file():
                return (
                    f"{EULA_NOTE}\n\n{file.read_text(encoding='utf-8', errors='replace').strip()}"
                )
    return EULA_NOTE


def sections(texts):
    """Texts with their titles, each once."""
    titles = {}
    for title, text in texts:
        titles.setdefault(text, {})[title] = True
    for text, names in titles.items():
        yield f"{RULE}\n{', '.join(names)}\n{RULE}\n{text}\n"


def gather(destination: Path, copied):
    """(what is in lib/, by a line each; the titles and texts of the licences)."""
    known, owners, texts = [], {}, []
    packaged = owners_of([path for _, path in copied])
    for name, path in copied:
        is_library = (destination / "lib" / name).exists()
        if path not in packaged and holds_cuda_runtime(path):
            where = "lib" if is_library else "bin"
            known.append(f"{where}/{name}: holds NVIDIA's CUDA runtime")
            texts.append(("NVIDIA CUDA runtime", cuda_licence(path)))
        if not is_library:
            continue
        if OURS.match(name):
            known.append(f"lib/{name}: warpfold")
        elif CUDA_RUNTIME.match(name):  # out of a package of NVIDIA's or of a toolkit's folder
            known.append(f"lib/{name}: NVIDIA CUDA runtime")
            texts.append(("NVIDIA CUDA runtime", cuda_licence(path)))
        elif package := packaged.get(path):
            owners[package] = version_of(package)
            known.append(f"lib/{name}: {package} {owners[package]}")
        else:
            raise Unlicensed(f"{name} ({path}) belongs to no package: whose licence is it under?")
    names = {name for name, _ in copied}
    for file in sorted((destination / "lib").iterdir()):
        if file.name not in names:
            raise Unlicensed(f"{file} was not copied now: stage into an empty folder")
    owners |= {package: version_of(package) for package in compiled_in()}
    texts += [(f"{name} {owners[name]}", copyright_of(name)) for name in sorted(owners)]
    return sorted(set(known)), texts


def common_licences(texts):
    """The licences that the texts refer to by where Debian keeps them."""
    named = set()
    for _, text in texts:
        named |= set(re.findall(r"/usr/share/common-licenses/([A-Z][\w.-]*\w)", text))
    for name in sorted(named):
        if (COMMON / name).exists():
            yield f"{COMMON / name}", (COMMON / name).read_text(encoding="utf-8").strip()


def main():
    if len(sys.argv) != 2 or sys.argv[1] in ("-h", "--help"):
        print(__doc__)
        sys.exit(0 if sys.argv[1:] in (["-h"], ["--help"]) else 2)
    destination = Path(sys.argv[1])
    copied = sorted({tuple(line.rstrip("\n").split("\t")) for line in sys.stdin})
    try:
        known, texts = gather(destination, copied)
    except Unlicensed as error:
        sys.exit(f"licenses: {error}")
    head = [
        "Third-party software that comes with warpfold, which itself is under the Apache License",
        "2.0 (LICENSE). deploy/licenses.py wrote this file.",
        "",
        *known,
        f"compiled in (headers, static libraries): {', '.join(compiled_in())}",
    ]
    body = [*sections(texts), *sections(common_licences(texts))]
    file = destination / "THIRD_PARTY_LICENSES"
    file.write_text("\n".join([*head, "", *body]), encoding="utf-8")
    file.chmod(0o644)  # for everybody, whatever the umask


if __name__ == "__main__":
    main()
