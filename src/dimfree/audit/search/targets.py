"""Every hunt by name: `hunt(HUNTS[name](epsilon), seconds)`."""

from collections.abc import Callable
from functools import partial

from dimfree.accounting.budget import Neighbours
from dimfree.audit.search.climb import Quarry
from dimfree.audit.search.hunted_cores import stability_bit, stable_core, stable_mean, tolerant_mean
from dimfree.audit.search.hunted_directions import outer_products, spread, togetherness, unevenness, weight
from dimfree.audit.search.hunted_sums import clipped_sum, excess, friend_radius, group_means, scores, unit
from dimfree.audit.search.hunted_votes import histogram, sparse
from dimfree.audit.search.hunted_weights import basic_filter, soft_core

_OF_A_RELATION: dict[str, Callable[[float, Neighbours], Quarry]] = {
    "clipped mean": clipped_sum,
    "scores": scores,
    "group means": group_means,
    "excess": excess,
    "unit of scores": unit,
    "friend radius": friend_radius,
    "unevenness": unevenness,
    "weight of unevenness": weight,
    "spread in a basis": spread,
    "togetherness": togetherness,
    "outer products": outer_products,
    "stability bit": stability_bit,
    "stable mean": stable_mean,
    "stable mean, unstable records": tolerant_mean,
    "stable core": stable_core,
    "stable histogram": histogram,
    "sparse vector": sparse,
}


def _of(make: Callable[[float, Neighbours], Quarry], relation: Neighbours, epsilon: float) -> Quarry:
    return make(epsilon, relation)


HUNTS: dict[str, Callable[[float], Quarry]] = {
    **{
        f"{name}, {relation}": partial(_of, make, relation)
        for name, make in _OF_A_RELATION.items()
        for relation in Neighbours
    },
    "soft core, add-remove": soft_core,
    "basic filter, add-remove": basic_filter,
}
