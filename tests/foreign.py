"""Values that nobody means to pass: tables with a secret number, objects that raise errors, numbers out of range."""

import decimal
import fractions

import numpy as np
import pandas as pd
from scipy import sparse

SECRET = 918273645.125
SECRETS = ("918273645", "9.18273645", "918_273", "9182736", "-71828")  # as texts may show it
COUNT = 467  # a prime that no public number comes near
_ALONE = ("bool", "float", "index", "len", "iter", "eq", "hash", "array")
_HOOKS = (
    *_ALONE, "int", "getitem", "ne", "lt", "le", "gt", "ge", "contains", "complex", "format", "call", "enter", "fspath",
    "add", "mul", "sub", "truediv", "radd", "rmul", "rtruediv", "neg",
)  # fmt: skip


def _secret_table() -> np.ndarray:
    table = np.random.default_rng(7).normal(size=(COUNT, 3))
    table[11] = SECRET
    table[0] = -71828.5
    return table


def _shouting(*names: str) -> object:
    """An object of which these methods raise an error that quotes the secret; its text is the secret, too."""

    def raises(*_: object, **__: object) -> object:
        raise RuntimeError(f"the object says {SECRET}")

    def told(_: object) -> str:
        return f"Person({SECRET})"

    words = {"__repr__": told, "__str__": told} | {f"__{name}__": raises for name in names}
    return type("Person", (), words)()


def foreign_values() -> dict[str, object]:
    """By what they are. Every array, frame, list, set and object holds the secret; the scalars do not."""
    table = _secret_table()
    frame = pd.DataFrame(table, columns=list("abc"))
    whole = np.arange(COUNT)
    held = {
        "a table": table,
        "a transposed table": table.T,
        "a square table": table[10:13],
        "a float32 table": table.astype(np.float32),
        "a table of whole numbers": np.full((COUNT, 3), 918273645),
        "a table of objects": table.astype(object),
        "a table of text": table.astype(str),
        "a column": table[:, 0],
        "a column of whole numbers": -918273645 - whole,  # below 0: no call is asked for so much work
        "a column of text": table[:, 0].astype(str),
        "a row": table[11],
        "two entries": table[11, :2],
        "one entry": table[11, :1],
        "an array without dimensions": np.array(str(SECRET)),
        "a masked row": np.ma.array(table[11], mask=[True, False, False]),
        "a structured array": np.array([(SECRET, 1)], dtype=[("a", float), ("b", int)]),
        "a sparse table": sparse.csr_array(table),
        "a frame": frame,
        "a transposed frame": frame.T,
        "a frame of one cell": frame.iloc[[11], [0]],
        "a Series": frame["a"],
        "a Series of one": frame["a"].iloc[[11]],
        "an index": pd.Index([SECRET, 1.0]),
        "a list": table[:, 0].tolist(),
        "a list of two": [SECRET, -71828.5],
        "a list of lists": table.tolist(),
        "a ragged list": [[SECRET], [SECRET, 1.0]],
        "a list of text": [str(SECRET)] * 2,
        "a tuple": (SECRET, SECRET, SECRET),
        "a dict": {str(SECRET): SECRET},
        "a set": {SECRET},
        "a frozenset": frozenset({SECRET}),
        "a generator": (value for value in (SECRET, SECRET)),
        "a long text": f"{SECRET} " * COUNT,
        "bytes": str(SECRET).encode(),
        "a text that prints": _shouting(),
        "an object that objects": _shouting(*_HOOKS),
        "a class": type(_shouting()),
        "a function": lambda: SECRET,
    }
    held |= {f"an object whose {name} raises": _shouting(name) for name in _ALONE}
    return held | _scalars()


def _scalars() -> dict[str, object]:
    return {
        "10**400": 10**400,
        "-10**400": -(10**400),
        "nan": float("nan"),
        "inf": float("inf"),
        "-inf": float("-inf"),
        "1e308": 1e308,
        "5e-324": 5e-324,
        "-0.0": -0.0,
        "complex": 1 + 2j,
        "Decimal": decimal.Decimal("0.5"),
        "Decimal NaN": decimal.Decimal("sNaN"),
        "Decimal beyond floats": decimal.Decimal("1e400"),
        "Fraction": fractions.Fraction(1, 2),
        "Fraction beyond floats": fractions.Fraction(10**400, 3),
        "float16": np.float16(0.5),
        "float32": np.float32(0.5),
        "float64": np.float64(0.5),
        "longdouble": np.longdouble("1e4000"),
        "int8": np.int8(1),
        "uint64": np.uint64(3),
        "bool_": np.bool_(True),
        "complex64": np.complex64(1j),
        "datetime64": np.datetime64("2024-01-01"),
        "timedelta64": np.timedelta64(1, "D"),
        "str_": np.str_("nobody"),
        "an unknown word": "nobody",
        "an empty text": "",
        "a null character": "\0",
        "a lone surrogate": "\ud800",
        "empty bytes": b"",
        "None": None,
        "True": True,
        "NA": pd.NA,
        "NaT": pd.NaT,
        "Ellipsis": ...,
        "an empty list": [],
        "an empty array": np.empty(0),
        "an empty table": np.empty((0, 3)),
    }
