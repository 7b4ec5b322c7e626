"""The Python of a Markdown page, run as printed: nothing is given but the server's address."""

import ast
import builtins
import doctest
import importlib.util
import re
import textwrap

ADDRESS = "localhost:50051"
BLOCK = re.compile(r"^( *)```python\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)


class Block:
    """What one block of the page says."""

    def __init__(self, text):
        self._text = textwrap.dedent(text)
        self._examples = doctest.DocTestParser().get_examples(self._text)
        code = "".join(example.source for example in self._examples) or self._text
        self._nodes = list(ast.walk(ast.parse(code)))

    def modules(self):
        """The names of the packages that it imports."""
        for node in self._nodes:
            if isinstance(node, ast.Import):
                yield from (alias.name.split(".")[0] for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                yield node.module.split(".")[0]

    def missing(self):
        """Those of them that are not installed."""
        return {name for name in self.modules() if importlib.util.find_spec(name) is None}

    def bound(self):
        for node in self._nodes:
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                yield from (alias.asname or alias.name.split(".")[0] for alias in node.names)
            elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                yield node.name
            elif isinstance(node, ast.arg):
                yield node.arg
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                yield node.id

    def used(self):
        for node in self._nodes:
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                yield node.id

    def run(self, server, names):
        """Runs it in `names`; how many of its answers are not those that it shows."""
        text = self._text.replace(ADDRESS, server)
        if not self._examples:
            exec(compile(text, "page", "exec"), names)
            return 0
        test = doctest.DocTestParser().get_doctest(text, names, "page", "page", 0)
        test.globs = names  # not a copy: the next block goes on from here
        return doctest.DocTestRunner().run(test, clear_globs=False).failed


def blocks(page):
    return [Block(text) for _, text in BLOCK.findall(page.read_text(encoding="utf-8"))]


def unprinted(page):
    """The names that a block uses and neither it nor one before it has."""
    known = set(dir(builtins))
    for block in blocks(page):
        known |= set(block.bound())
        yield from set(block.used()) - known


def run(page, server, without=()):
    """Runs the page but the blocks that import one of `without`; the modules that others lack."""
    names, missing = {}, set()
    for block in blocks(page):
        lacks = block.missing() | (set(block.modules()) & set(without))
        missing |= lacks
        if not lacks:
            assert block.run(server, names) == 0
    names["client"].close()
    return missing
