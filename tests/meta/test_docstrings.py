"""Every public name says in numpydoc sections what goes in and what comes out."""

import inspect
import re

import pytest

import dimfree
from dimfree.noise import Noise

FUNCTIONS = [name for name in dimfree.__all__ if inspect.isfunction(getattr(dimfree, name))]
CLASSES = [name for name in dimfree.__all__ if inspect.isclass(getattr(dimfree, name))]
ERRORS = [name for name in CLASSES if issubclass(getattr(dimfree, name), Exception)]


def sections(documented) -> dict[str, str]:
    """Title of a section → its text."""
    parts = re.split(r"^(\w[\w ]*)\n-{3,}\n", inspect.getdoc(documented) or "", flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def listed(section: str) -> set[str]:
    """The names in front of the colons: `epsilon, delta : float` has two."""
    heads = re.findall(r"^(\*{0,2}\w[\w*, ]*?)(?: :.*)?$", section, flags=re.MULTILINE)
    return {name.strip().lstrip("*") for head in heads for name in head.split(",")}


def parameters_of(function) -> set[str]:
    return {name for name in inspect.signature(function).parameters if name not in ("self", "cls")}


def problems(function) -> list[str]:
    found, parameters = sections(function), parameters_of(function)
    returns = inspect.signature(function).return_annotation is not None
    lacking = sorted(parameters - listed(found.get("Parameters", "")))
    invented = sorted(listed(found.get("Parameters", "")) - parameters)
    return [
        *[f"parameter {name} is not described" for name in lacking],
        *[f"{name} is described and no parameter" for name in invented],
        *(["no section Returns"] if returns and not {"Returns", "Yields"} & set(found) else []),
    ]


def methods_of(cls) -> dict[str, object]:
    """Public methods that dimfree defines, with those of its own base classes; draws are described in `Noise`."""
    own = (base for base in cls.__mro__ if base.__module__.startswith("dimfree"))
    bodies = {name: value for base in reversed(list(own)) for name, value in vars(base).items()}
    plain = {name: getattr(value, "__func__", value) for name, value in bodies.items() if not name.startswith("_")}
    found = {name: value for name, value in plain.items() if inspect.isfunction(value)}
    return {name: value if value.__doc__ else getattr(Noise, name, value) for name, value in found.items()}


FACTORIES = {"isotropic", "diagonal", "dense", "low_rank", "from_public", "gain", "rotated_gain"}
DOCUMENTED = {"Covariance": FACTORIES, "Schema": set()}  # their other methods are for the package, not for users
METHODS = [
    f"{name}.{method}"
    for name in CLASSES
    for method in methods_of(getattr(dimfree, name))
    if method in DOCUMENTED.get(name, {method})
]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_public_function_describes_each_parameter_and_what_it_returns(name):
    assert problems(getattr(dimfree, name)) == []


@pytest.mark.parametrize("name", METHODS)
def test_a_public_method_describes_each_parameter_and_what_it_returns(name):
    """The draws of a noise, which the kernel asks for, in one line that names each parameter."""
    owner, _, method = name.partition(".")
    found = methods_of(getattr(dimfree, owner))[method]
    if hasattr(Noise, method):
        assert all(parameter in inspect.getdoc(found) for parameter in parameters_of(found))
    else:
        assert problems(found) == []


@pytest.mark.parametrize("name", [name for name in CLASSES if name not in ERRORS])
def test_a_public_class_describes_what_it_is_made_of(name):
    assert {"Parameters", "Attributes"} & set(sections(getattr(dimfree, name)))


def test_the_check_sees_what_is_missing():
    def told(first, second):
        """Something.

        Parameters
        ----------
        first : int
            A number.
        third : int
            Not there.
        """

    assert problems(told) == [
        "parameter second is not described",
        "third is described and no parameter",
        "no section Returns",
    ]
