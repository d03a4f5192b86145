"""The public name of `interop.opendp`: `from dimfree.opendp import make_private_mean`."""

from dimfree.interop.opendp import make_private_mean as make_private_mean

__all__ = ["make_private_mean"]
