"""The tiny worlds by name: one for each discrete mechanism, giving the laws of its code on neighbours."""

from collections.abc import Callable

from dimfree.audit.laws import coin_worlds, gaussian_worlds, sparse_worlds, vector_worlds, vote_worlds
from dimfree.audit.laws.exact import World

Maker = Callable[[float, float], World]

WORLDS: dict[str, tuple[Maker, bool]] = {  # name -> (world of a budget, whether the claim has a delta)
    "count (Gaussian)": (gaussian_worlds.gaussian_count, True),
    "total weight": (gaussian_worlds.gaussian_total, True),
    "vector (Gaussian)": (vector_worlds.vectors, True),
    "search": (gaussian_worlds.search, True),
    "bit and Gaussian": (gaussian_worlds.bit, True),
    "bit after a search": (gaussian_worlds.searched_bit, True),
    "bit, replace-one": (gaussian_worlds.public_bit, True),
    "count (Laplace)": (vote_worlds.pure_count, False),
    "stable histogram": (vote_worlds.histogram, True),
    "heaviest cell": (vote_worlds.heaviest, True),
    "sparse vector": (sparse_worlds.sparse, True),
    "sparse vector, stretches": (sparse_worlds.sparse_stretches, False),
    "basic filter": (coin_worlds.lifted, False),
    "Poisson sample": (coin_worlds.sampled, False),
    "groups in slots": (coin_worlds.grouped, False),
}
