"""Which folder of server/ may include which others: a table without circles, and its rule."""

import posixpath
import re

# What a folder may include, beside what those may include; a folder may include itself.
LAYERS = {
    "server/system": (),
    "server/device": (),
    "server/device/reduce": ("server/device",),
    "server/device/cpu": ("server/device/reduce",),
    "server/device/cuda/memory": ("server/device",),
    "server/device/cuda": ("server/device/cuda/memory", "server/device/reduce"),
    "server/device/backend": ("server/device/cpu", "server/device/cuda", "server/system"),
    "server/core/base": ("server/device",),
    "server/core/admission": ("server/core/base",),
    "server/core/tensors": ("server/core/base",),
    "server/core/regions": ("server/core/base",),
    "server/core/request": ("server/core/tensors", "server/core/regions"),
    "server/core/splitting": ("server/core/request", "server/device/reduce"),
    "server/core/scheduling": ("server/core/splitting",),
    "server/core/self_test": ("server/core/scheduling",),
    "server/observe/metrics": ("server/system",),
    "server/observe/trace": ("server/observe/metrics",),
    "server/observe/log": ("server/observe/trace",),
    "server/observe/gpu": ("server/observe/metrics",),
    "server/frontend/wire": ("server/core/request", "server/observe/log"),
    "server/frontend/requests": (
        "server/frontend/wire",
        "server/core/admission",
        "server/core/scheduling",
    ),
    "server/frontend/calls": ("server/frontend/requests",),
    "server/frontend/native": ("server/frontend/requests",),
    "server/frontend/kserve": ("server/frontend/requests",),
    "server/frontend/methods": (
        "server/frontend/calls",
        "server/frontend/native",
        "server/frontend/kserve",
    ),
    "server/frontend/grpc": ("server/frontend/methods", "server/system"),
}
# These put the program together.
ROOTS = ("server", "server/check")

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]+"(server/[^"]+)"', re.MULTILINE)


def reach(folder: str) -> set[str]:
    """All folders that `folder` may include, but itself."""
    found, todo = set(), list(LAYERS[folder])
    while todo:
        below = todo.pop()
        if below not in found:
            found.add(below)
            todo += LAYERS[below]
    return found


def include_layers(tree, path: str):
    """Folders of server/ include those below them."""
    folder = posixpath.dirname(path)
    if folder in ROOTS or not path.startswith("server/") or path.endswith(".md"):
        return
    if folder not in LAYERS:
        yield f"its folder has no line in LAYERS ({__name__}.py)"
        return
    allowed = reach(folder) | {folder}
    for name in INCLUDE.findall(tree.files[path]):
        if posixpath.dirname(name) not in allowed:
            yield f"includes {name}, which is not below it; LAYERS ({__name__}.py) says what is"
