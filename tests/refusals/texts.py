"""The parts of a ReduceRequest as text: a tensor and where its bytes are can be said apart."""


def tensor(dtype, *shape):
    return f"tensor {{ dtype: {dtype} shape: {list(shape)} }} "


def values(what="", where=""):
    """A source of values: a tensor's text, and where its bytes are if not in the message."""
    return f"sources {{ {what}{where}}} "


def ops(*names):
    """Without parameters."""
    return "".join(f"ops {{ op: {name} }} " for name in names)


def sum_of(what="", where=""):
    return values(what, where) + ops("OP_SUM")


def in_region(name="region", size_bytes=16, offset_bytes=0):
    fields = f"name: '{name}' offset_bytes: {offset_bytes} size_bytes: {size_bytes}"
    return f"memory {{ {fields} }} "


def resident(tensor_id):
    return f"tensor_id: '{tensor_id}' "
