"""The rules of the tree: which folder may include what, and a few that no compiler checks.

A rule looks at one file of the tree, or at one folder, and yields what is wrong with it. It knows
the tree only through `Tree`, so that the test can plant a violation in a tree made up in memory
(tree_test.py).
"""

import os
import posixpath
import re
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from layers import include_layers
from readmes import folder_has_readme

CXX = {".h", ".cc", ".cu", ".cuh"}
HEADERS = {".h", ".cuh"}
SCRIPTS = {".py", ".sh"}
PAGES = {".md"}
COLUMNS_MAX = 100
SOURCE_LINES_MAX = 400  # beyond ~300 a part is missing; beyond this nobody reads the file
KERNEL_LINES_MAX = 350
# Longer by what the file promises: nvcc needs no other one.
SOURCE_LINES_MAX_OF = {"examples/reduce/reduce.cu": 545, "examples/reduce/floats.cu": 495}

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]+["<]([^">]+)[">]', re.MULTILINE)


def is_made(folder: str, at_root: bool) -> bool:
    """Whether a folder holds what a build made, or what is not of the project."""
    if at_root and (folder == "bundle" or folder.startswith("build")):
        return True
    return folder.startswith(".") or folder == "__pycache__"


@dataclass
class Tree:
    """Text of every source, script and page, by its path from the root, '/' between folders."""

    files: dict[str, str]
    others: frozenset = frozenset()  # the paths of all other files
    _closures: dict[str, dict[str, list[str]]] = field(default_factory=dict)

    @classmethod
    def read(cls, root: Path) -> "Tree":
        files, others = {}, set()
        for folder, folders, names in os.walk(root):
            at_root = Path(folder) == root
            folders[:] = sorted(f for f in folders if not is_made(f, at_root))
            for path in (Path(folder) / name for name in sorted(names)):
                relative = path.relative_to(root).as_posix()
                if path.suffix in CXX | SCRIPTS | PAGES:
                    files[relative] = path.read_text(encoding="utf-8")
                else:
                    others.add(relative)
        return cls(files, frozenset(others))

    def has(self, path: str) -> bool:
        """Whether there is a file or a folder of this path."""
        paths = self.files.keys() | self.others
        return path in paths or any(p.startswith(path.rstrip("/") + "/") for p in paths)

    def folders(self) -> list[str]:
        """Every folder that holds a file, but the root."""
        return sorted({posixpath.dirname(p) for p in self.files.keys() | self.others} - {""})

    def includes(self, path: str) -> list[str]:
        """What the file names in its #include lines."""
        return INCLUDE.findall(self.files[path])

    def closure(self, path: str) -> dict[str, list[str]]:
        """Every name that including `path` pulls in through our own headers, with the way there."""
        if path not in self._closures:
            found = {}
            todo = [(path, [path])]
            while todo:
                file, way = todo.pop()
                for name in self.includes(file):
                    if name not in found:
                        found[name] = way
                        if name in self.files:
                            todo.append((name, way + [name]))
            self._closures[path] = found
        return self._closures[path]


# What a name in an #include line belongs to.
KINDS = {
    "gRPC or protobuf": re.compile(
        r"^(grpc|grpcpp|grpc\+\+|google/(protobuf|rpc)|warpfold/v\d+|inference)/"
    ),
    "CUDA": re.compile(
        r"^(cuda(_\w+)?\.(h|hpp)|cuda_runtime(_api)?\.h|(cooperative_groups|cub|thrust|cuda)/.*"
        r"|cooperative_groups\.h|nvml\.h|cu(blas|rand|fft)\w*\.h|device_launch_parameters\.h)$"
    ),
    "a log library": re.compile(r"^spdlog/"),
    "prometheus-cpp": re.compile(r"^prometheus/"),
    "the server": re.compile(r"^server/"),
    "the server's front end": re.compile(r"^server/frontend/"),
    "a client": re.compile(r"^client/"),
    "kernels for a CPU": re.compile(r"^kernels/cpu/"),
    "kernels for a GPU": re.compile(r"^kernels/cuda/"),
    "a test or a bench": re.compile(r"^(tests|bench)/"),
    "what it judges": re.compile(r"^kernels/(components|exact/\w+)\.h$"),
}


@dataclass(frozen=True)
class Edge:
    """Files of `suffixes` under `folders` never include these kinds.

    `deep`: not through our own headers either.
    """

    folders: tuple[str, ...]
    forbidden: tuple[str, ...]
    but: tuple[str, ...] = ()
    suffixes: frozenset = frozenset(CXX)
    deep: bool = True


WIRE = "gRPC or protobuf"
JUDGES = tuple(
    f"tests/kernels/exact/{name}"
    for name in ("oracle.h", "reduction_oracle.h", "reduction_oracle.cc")
)
EDGES = [
    Edge(("kernels",), (WIRE, "a log library", "prometheus-cpp", "the server", "a client")),
    Edge(
        ("kernels",),
        ("CUDA",),
        but=("kernels/cuda", "kernels/host_device.h"),
        suffixes=frozenset({".h", ".cc"}),
    ),
    Edge(("server/core",), (WIRE, "CUDA", "the server's front end")),
    Edge(("server",), (WIRE,), but=("server/frontend",), deep=False),
    Edge(("server/device",), (WIRE, "the server's front end", "prometheus-cpp")),
    Edge(("server",), ("CUDA",), but=("server/device/cuda",), deep=False),
    Edge(("server/device/cpu",), ("CUDA",)),
    Edge(("server", "kernels", "client"), ("a test or a bench",)),
    Edge(("server",), ("a client",)),
    Edge(("client",), ("the server",)),
    Edge(("kernels/cpu",), ("kernels for a GPU",)),
    Edge(("kernels/cuda",), ("kernels for a CPU",)),
    Edge(("",), (WIRE, "a log library"), suffixes=frozenset({".cu", ".cuh"})),
    Edge(JUDGES, ("what it judges",)),
]


def inside(path: str, folder: str) -> bool:
    return folder == "" or path == folder or path.startswith(folder + "/")


def include_edges(tree: Tree, path: str):
    """#include edges go downward only."""
    suffix = PurePosixPath(path).suffix
    if suffix not in CXX:
        return
    for edge in EDGES:
        if suffix not in edge.suffixes or not any(inside(path, f) for f in edge.folders):
            continue
        if any(inside(path, f) for f in edge.but):
            continue
        found = tree.closure(path) if edge.deep else {name: [path] for name in tree.includes(path)}
        for name, way in found.items():
            for kind in edge.forbidden:
                if KINDS[kind].match(name):
                    yield f"includes {kind}: {' -> '.join(way + [name])}"


def code_only(text: str) -> str:
    """The text without comments and the insides of strings; lines keep their numbers."""
    pattern = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.DOTALL)
    return pattern.sub(lambda m: '""' if m[0][0] == '"' else re.sub(r"[^\n]", "", m[0]), text)


WAITING_CALL = re.compile(
    r"\b(cudaDeviceSynchronize|cudaMemcpy|cudaMemcpy2D|cudaMemset|cudaMemcpyToSymbol)\s*\("
)


def waiting_cuda_calls(tree: Tree, path: str):
    """No synchronous CUDA call on the serving path, server/ and kernels/."""
    if PurePosixPath(path).suffix not in CXX or not (
        inside(path, "server") or inside(path, "kernels")
    ):
        return
    for number, line in enumerate(code_only(tree.files[path]).splitlines(), 1):
        if match := WAITING_CALL.search(line):
            yield f"line {number}: {match[1]} waits for the device; use the call with a stream"


ERROR_TEXT = r"\b(?:error_)?message\(\)"
NAMED_ERROR_TEXT = re.compile(rf"\b(?:auto|string|string_view)&?\s+(\w+)\s*[=({{][^;]*{ERROR_TEXT}")
TEXT_MATCHER = re.compile(
    r"\b(?:StartsWith|EndsWith|StrContains|(?:Consume|Strip)(?:Prefix|Suffix))\w*\("
)


def matches_on_error_texts(tree: Tree, path: str):
    """What an error is about is in its code and its payloads; its text is for people.

    server/check/ cuts texts into the columns of its report.
    """
    if PurePosixPath(path).suffix not in CXX or not inside(path, "server"):
        return
    if inside(path, "server/check"):
        return
    text = code_only(tree.files[path])
    names = "".join(rf"|\b{name}\b" for name in NAMED_ERROR_TEXT.findall(text))
    source = rf"(?:{ERROR_TEXT}{names})"
    compared = re.compile(
        rf"{source}\s*(?:[!=]=|\.\s*(?:r?find|compare|substr|starts_with|ends_with)\w*\()"
        rf"|[!=]=\s*[\w.>()*-]*{source}"
    )
    found = [match.start() for match in compared.finditer(text)]
    for match in TEXT_MATCHER.finditer(text):
        if re.search(source, arguments(text, match.end())):
            found.append(match.start())
    for start in sorted(found):
        line = text.count("\n", 0, start) + 1
        yield f"line {line}: matches on an error's text; see kernels/field_error.h"


def arguments(text: str, start: int) -> str:
    """What stands between the '(' before `start` and its ')'."""
    depth = 1
    for at in range(start, len(text)):
        depth += (text[at] == "(") - (text[at] == ")")
        if depth == 0:
            return text[start:at]
    return text[start:]


TIME_OF_BUILD = re.compile(r"\b__(DATE|TIME|TIMESTAMP)__\b")


def time_of_build(tree: Tree, path: str):
    """The same commit makes the same bits whenever it is built."""
    if PurePosixPath(path).suffix not in CXX:
        return
    for number, line in enumerate(code_only(tree.files[path]).splitlines(), 1):
        if match := TIME_OF_BUILD.search(line):
            yield f"line {number}: {match[0]} makes every build another"


def header_guards(tree: Tree, path: str):
    """A header's guard is its path. Highway's, `-inl.h`, lets each SIMD target in once."""
    if PurePosixPath(path).suffix not in HEADERS:
        return
    guard = "WARPFOLD_" + re.sub(r"[^A-Z0-9]", "_", path.upper()) + "_"
    opened = rf"^#ifndef {guard}\n#define {guard}$"
    if path.endswith("-inl.h"):
        opened = rf"^#if defined\({guard}\) == defined\(HWY_TARGET_TOGGLE\)$"
    if not re.search(opened, tree.files[path], re.MULTILINE):
        yield f"its include guard is not {guard}"
    elif not re.search(rf"^#endif  // {guard}\n?\Z", tree.files[path], re.MULTILINE):
        yield f"does not end in '#endif  // {guard}'"


MADE_BY = re.compile(r"\bMade by (\S+); not to be edited\.")


def file_length(tree: Tree, path: str):
    """A file that nobody can read in one go has a part missing.

    What a program of the tree made, as the first line says, is read there.
    """
    made = MADE_BY.search(tree.files[path].partition("\n")[0])
    if made and tree.has(made[1]):
        return
    count = tree.files[path].count("\n")
    usual = KERNEL_LINES_MAX if path.startswith("kernels/") else SOURCE_LINES_MAX
    most = SOURCE_LINES_MAX_OF.get(path, usual)
    if PurePosixPath(path).suffix not in PAGES and count > most:
        yield f"has {count} lines, more than {most}"


def white_space(tree: Tree, path: str):
    """No tabs, no blanks at line ends, one line feed at the end."""
    text = tree.files[path]
    for number, line in enumerate(text.splitlines(), 1):
        if "\t" in line:
            yield f"line {number}: a tab"
        if line != line.rstrip():
            yield f"line {number}: blanks at its end"
    if text and (not text.endswith("\n") or text.endswith("\n\n")):
        yield "does not end in one line feed"


def script_width(tree: Tree, path: str):
    """Scripts keep to the 100 columns that clang-format gives the C++ sources."""
    if PurePosixPath(path).suffix in SCRIPTS:
        for number, line in enumerate(tree.files[path].splitlines(), 1):
            if len(line) > COLUMNS_MAX:
                yield f"line {number} has {len(line)} columns, more than {COLUMNS_MAX}"


def anchors(page: str) -> set[str]:
    """The anchors that GitHub gives a page's headings: "## A `b`: c" is "a-b-c"."""
    found, counts = set(), {}
    for heading in re.findall(r"^#+ +(.*)$", re.sub(r"(?ms)^```.*?^```", "", page), re.MULTILINE):
        text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
        slug = re.sub(r"[^\w\- ]", "", text).replace(" ", "-")
        counts[slug] = counts.get(slug, -1) + 1
        found.add(f"{slug}-{counts[slug]}" if counts[slug] else slug)
    return found


def page_links(tree: Tree, path: str):
    """What a page links to inside the tree is there, and so is the heading."""
    if PurePosixPath(path).suffix not in PAGES:
        return
    for target in re.findall(r"\]\(([^)\s]+)\)", tree.files[path]):
        if re.match(r"[a-z]+:", target):
            continue
        file, _, anchor = target.partition("#")
        folder = PurePosixPath(path).parent.as_posix()
        linked = posixpath.normpath(posixpath.join(folder, file)) if file else path
        if not tree.has(linked):
            yield f"links to {target}, which is not there"
        elif anchor and anchor not in anchors(tree.files.get(linked, "")):
            yield f"links to {target}, and {linked} has no such heading"


def default_in_switch_over_own_enum(tree: Tree, path: str):
    """A switch over our own enum (`case DType::kX`) has none: a new member must not compile."""
    if PurePosixPath(path).suffix not in CXX:
        return
    text = code_only(tree.files[path])
    for match in re.finditer(r"\bswitch\s*\(", text):
        body = braces(text, text.find("{", match.end()))
        if re.search(r"\bcase\s+(?!absl::|grpc::)[\w:]*::k[A-Z]\w*\s*:", body) and re.search(
            r"\bdefault\s*:", body
        ):
            line = text.count("\n", 0, match.start()) + 1
            yield f"line {line}: a switch over our enum has a default"


SWITCH_OVER_CATALOGUE = re.compile(
    r"\bcase\s+(?:\w+::)*(?:(?:Op|DType)::k[A-Z]\w*|(?:OP|DTYPE)_[A-Z]\w*)"
    r"|\bsizeof\((?:T|Element)\)\s*(?:[=!<>]=|[<>](?![<>]))\s*\d+"
)


def switches_over_ops_and_dtypes(tree: Tree, path: str):
    """What differs between ops or dtypes stands in their catalogues and nowhere else.

    A comparison of an element's size stands for a class of dtypes that has a name, or gets one.
    """
    if PurePosixPath(path).suffix not in CXX or not any(
        inside(path, folder) for folder in ("kernels", "server", "client")
    ):
        return
    if any(inside(path, folder) for folder in ("kernels/ops", "kernels/dtypes")):
        return
    for number, line in enumerate(code_only(tree.files[path]).splitlines(), 1):
        if match := SWITCH_OVER_CATALOGUE.search(line):
            yield f"line {number}: '{match[0]}' belongs in kernels/ops or kernels/dtypes"


def braces(text: str, start: int) -> str:
    """The text from the '{' at `start` to its '}', without what stands in braces further in."""
    depth, kept = 0, []
    for char in text[start:]:
        depth += (char == "{") - (char == "}")
        if depth == 1:
            kept.append(char)
        if depth == 0:
            break
    return "".join(kept)


RULES = [
    include_edges,
    include_layers,
    waiting_cuda_calls,
    matches_on_error_texts,
    time_of_build,
    header_guards,
    file_length,
    white_space,
    script_width,
    page_links,
    default_in_switch_over_own_enum,
    switches_over_ops_and_dtypes,
]
FOLDER_RULES = [folder_has_readme]


def findings(tree: Tree, rules=RULES, folder_rules=FOLDER_RULES):
    for paths, rules_of_paths in ((tree.files, rules), (tree.folders(), folder_rules)):
        for path in paths:
            for rule in rules_of_paths:
                for what in rule(tree, path):
                    yield f"{path}: {what}"
