"""The Python client's functions by NumPy's names: the clients', a tensor's methods, Dask's."""

from dataclasses import dataclass

COLUMNS_MAX = 100
TYPE_VARIABLES = "NumberT FloatT IndexT TruthT ValueT ReductionT DescribedT".split()
GENERIC = f"[{', '.join(TYPE_VARIABLES)}]"

# NumPy's functions that add or multiply take the `dtype` to do it in.
ACCUMULATED = {"sum", "square_sum", "product"}
# An index is along one axis or over all.
INDICES = {"argmin", "argmax"}
# What is NumPy's own, and follows from nothing in the catalogue.
WITHOUT_OUT = {"count_nonzero"}

EXAMPLES = {
    "sum": [">>> print(client.sum([[1, 2], [3, 4]], axis=0))", "[4 6]"],
    "mean": [">>> print(client.mean(np.arange(4)))", "1.5"],
    "min": [
        ">>> print(client.min([[1.5, 2], [3, 0.5]], axis=1, keepdims=True))",
        "[[1.5]",
        " [0.5]]",
    ],
    "ptp": [">>> print(client.ptp(np.array([-128, 127], np.int8)))", "255"],
}
UNSIGNED = "Of signed integers it is of the unsigned dtype of their size, which holds each."


@dataclass(frozen=True)
class Function:
    """One of NumPy's, and what its signature follows from."""

    name: str
    op: str
    omits_nan: bool
    result: str  # the type variable of a result without axes
    note: str  # where the result is not of NumPy's dtype
    is_index: bool
    takes_dtype: bool
    takes_out: bool
    takes_ddof: bool


def functions_of(catalogue):
    """The functions of all ops, then those that leave NaN out."""
    return [
        Function(
            name=op[key],
            op=op["name"],
            omits_nan=key == "numpy_nan",
            result=type_variable(op, catalogue["dtypes"]),
            note=UNSIGNED if "u8" in op["results"]["i8"] else "",
            is_index=not INDICES.isdisjoint(op["needs"]),
            takes_dtype=not ACCUMULATED.isdisjoint(op["needs"]),
            takes_out=op["name"] not in WITHOUT_OUT,
            takes_ddof=(op["params"] or {}).get("name") == "variance",
        )
        for key in ("numpy", "numpy_nan")
        for op in catalogue["ops"]
        if op[key]
    ]


def type_variable(op, dtypes):
    """What client/python/warpfold/_words.py calls the type of a result without axes."""
    natures = {dtype["name"]: dtype["nature"] for dtype in dtypes}
    results = {natures[result] for result in op["results"].values()}
    of_one_nature = {"bool": "TruthT", "signed": "IndexT", "float": "FloatT"}
    return of_one_nature[results.pop()] if len(results) == 1 else "NumberT"


def broken(indent, head, parts, tail):
    """`head(parts)tail` in lines, as ruff breaks them."""
    margin, joined = " " * indent, ", ".join(parts)
    if len(margin + head + joined + tail) + 2 <= COLUMNS_MAX:
        return [f"{margin}{head}({joined}){tail}"]
    if len(margin + joined) + 4 <= COLUMNS_MAX:
        inner = [f"{margin}    {joined}"]
    else:
        inner = [f"{margin}    {part}," for part in parts]
    return [f"{margin}{head}(", *inner, f"{margin}){tail}"]


def docstring(indent, function):
    margin = " " * indent
    more = [[function.note]] if function.note else []
    more += [EXAMPLES[function.name]] if function.name in EXAMPLES else []
    if not more:
        return [f'{margin}"""np.{function.name}."""']
    lines = [f'{margin}"""np.{function.name}.']
    for paragraph in more:
        lines += ["", *(margin + line for line in paragraph)]
    return [*lines, f'{margin}"""']


def client_method(function):
    """With an overload for calls over all axes, whose results are scalars."""
    name, result = function.name, function.result
    options = "FreedomOptions" if function.takes_ddof else "ScalarOptions"
    scalar = ["self", "x: Any", "axis: None = None", f"**call: Unpack[{options}]"]
    every = [
        "self",
        "x: Any",
        "axis: Index | None = None" if function.is_index else "axis: Axis = None",
    ]
    every += ["dtype: DTypeLike | None = None"] if function.takes_dtype else []
    every += ["out: Out = None"] if function.takes_out else []
    every += ["ddof: Real = 0"] if function.takes_ddof else []
    every += ["*", "keepdims: bool = False"]
    every += ["correction: Real | None = None"] if function.takes_ddof else []
    every += ["**call: Unpack[CallOptions]"]
    return [
        "    @overload",
        *broken(4, f"def {name}", scalar, f" -> {result}: ..."),
        "",
        "    @overload",
        *broken(4, f"def {name}", every, " -> ValueT: ..."),
        "",
        *broken(4, f"def {name}", every, f" -> {result} | ValueT:"),
        *docstring(8, function),
        *client_body(function),
        "",
    ]


def client_body(function):
    planned = ["x", f'["{function.op}"]', "one_axis(axis)" if function.is_index else "axis"]
    planned += ["keepdims"]
    planned += ["omit_nan=True"] if function.omits_nan else []
    planned += ["ddof=freedom(ddof, correction)"] if function.takes_ddof else []
    plan, lines = f"plan({', '.join(planned)})", []
    if function.is_index and function.omits_nan:  # an index of no number is a ValueError
        lines = [f"        planned = {plan}"]
        plan = "planned._replace(refuses_all_nan=True)"
    value = [f'"{function.name}"', plan, "call"]
    if function.takes_out:
        value += ["dtype" if function.takes_dtype else "None", "out"]
    return [*lines, *broken(8, "return self._value", value, "")]


def imports(names, module):
    """Of names in Python's order, without regard to how many there are."""
    line = f"from {module} import {', '.join(names)}"
    if len(line) <= COLUMNS_MAX:
        return [line]
    return [f"from {module} import (", *(f"    {name}," for name in names), ")"]


def numpy_functions(catalogue, made):
    """client/python/warpfold/_numpy_functions.py"""
    words = sorted([*TYPE_VARIABLES, "CallOptions", "Calls", "Index", "freedom", "one_axis"])
    lines = [
        f'"""NumPy\'s functions, for both clients. {made}"""',
        "",
        "from __future__ import annotations",
        "",
        "from typing import TYPE_CHECKING, Any, overload",
        "",
        "from ._arrays import Axis, Real",
        "from ._forms import Out",
        "from ._request import plan",
        *imports(words, "._words"),
        "",
        "if TYPE_CHECKING:",
        "    from numpy.typing import DTypeLike",
        "    from typing_extensions import Unpack",
        "",
        "    from ._words import FreedomOptions, ScalarOptions",
        "",
        '__all__ = ["NumpyFunctions"]',
        "",
        "",
        f"class NumpyFunctions(Calls{GENERIC}):",
        '    """NumPy\'s functions that are an op, and those that leave NaN out."""',
        "",
    ]
    for function in functions_of(catalogue):
        lines += client_method(function)
    return "\n".join(lines)


def tensor_methods(catalogue, made):
    """client/python/warpfold/_tensor_methods.py"""
    lines = [
        f'"""A tensor\'s methods by NumPy\'s names. {made}"""',
        "",
        "from __future__ import annotations",
        "",
        "from ._functions import Functions",
        "from ._methods import OfClient, method_of",
        *imports(sorted(TYPE_VARIABLES), "._words"),
        "",
        '__all__ = ["TensorMethods"]',
        "",
        "",
        f"class TensorMethods(OfClient{GENERIC}):",
        '    """NumPy\'s functions of a tensor on the server, as its own methods."""',
        "",
    ]
    for function in functions_of(catalogue):
        of_client = f"Functions{GENERIC}.{function.name}"
        lines += broken(4, f"{function.name} = method_of", [of_client], "")
    return "\n".join(lines) + "\n"


def dask_functions(catalogue, made):
    """client/python/warpfold/_dask_functions.py, whose names are warpfold.dask's."""
    # Not nanargmin and nanargmax: of nothing but NaN they are ValueErrors, of which a state knows
    # only when Dask has computed it.
    functions = [f for f in functions_of(catalogue) if not (f.is_index and f.omits_nan)]
    lines = [
        f'"""NumPy\'s functions of Dask arrays. {made}"""',
        "",
        "from __future__ import annotations",
        "",
        "from typing import TYPE_CHECKING, SupportsIndex",
        "",
        "from ._arrays import Axis, Real",
        "from ._dask import reduce, reduce_one",
        "",
        "if TYPE_CHECKING:",
        "    import dask.array as da",
        "    from typing_extensions import Unpack",
        "",
        "    from ._dask import Options",
        "",
        "__all__ = [",
        *(f'    "{name}",' for name in sorted(["reduce", *(f.name for f in functions)])),
        "]",
    ]
    for function in functions:
        axis = "axis: SupportsIndex | None" if function.is_index else "axis: Axis"
        words = ["x: da.Array", f"{axis} = None"]
        words += ["*", "ddof: Real = 0"] if function.takes_ddof else []
        words += ["**options: Unpack[Options]"]
        given = [f'"{function.name}"', "x", f'"{function.op}"', "axis", "options"]
        given += ["ddof=ddof"] if function.takes_ddof else []
        given += ["omit_nan=True"] if function.omits_nan else []
        lines += [
            "",
            "",
            *broken(0, f"def {function.name}", words, " -> da.Array:"),
            f'    """np.{function.name}."""',
            *broken(4, "return reduce_one", given, ""),
        ]
    return "\n".join(lines) + "\n"


def made_of(catalogue, made):
    """The texts by path; `made` says in each who wrote it."""
    folder = "client/python/warpfold"
    return {
        f"{folder}/_numpy_functions.py": numpy_functions(catalogue, made),
        f"{folder}/_tensor_methods.py": tensor_methods(catalogue, made),
        f"{folder}/_dask_functions.py": dask_functions(catalogue, made),
    }
