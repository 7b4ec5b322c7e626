"""The package's page: README.md as it reads outside this tree.

Its links lead to files of the tree. $WARPFOLD_SOURCE_URL says where people read those, such as
https://HOST/warpfold/blob/main; without it, the page has their names as plain text, since a link
that leads nowhere is worse.
"""

import os
import re
from pathlib import Path
from urllib.parse import urljoin

from hatchling.metadata.plugin.interface import MetadataHookInterface

FOLDER = "client/python/"  # of the tree, where README.md lies
LINK = re.compile(r"\[([^\]]*)\]\((?!https?://)([^)]*)\)")


def page(readme: str, source_url: str) -> str:
    """`readme` with every relative link made absolute, or plain text."""
    if not source_url:
        return LINK.sub(r"\1", readme)
    base = urljoin(source_url.rstrip("/") + "/", FOLDER)
    return LINK.sub(lambda link: f"[{link[1]}]({urljoin(base, link[2])})", readme)


class PageHook(MetadataHookInterface):
    def update(self, metadata: dict) -> None:
        readme = Path(self.root, "README.md").read_text(encoding="utf-8")
        text = page(readme, os.environ.get("WARPFOLD_SOURCE_URL", ""))
        metadata["readme"] = {"content-type": "text/markdown", "text": text}
