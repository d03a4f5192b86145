"""compose: what an error says of the delta that it asks for."""

import re

import pytest

from dimfree.accounting.budget import Budget, Neighbours
from dimfree.accounting.losses import Pure
from dimfree.accounting.several_runs import ComposedRuns, Composition
from dimfree.errors import InvalidParameter
from dimfree.results.composed import Composed


@pytest.mark.parametrize("delta", [1.2324e-6, 1.0049e-9, 0.1])
def test_the_delta_that_is_said_to_be_enough_is_enough(delta):
    """Of runs of which only the promise is known."""
    budget = Budget(1.0, delta)
    run = Composition(budget, Neighbours.ADD_REMOVE, (Pure("all", 1.0),))
    three = Composed(Neighbours.ADD_REMOVE, True, 3, "one", ComposedRuns((run,) * 3), (budget,) * 3)
    with pytest.raises(InvalidParameter) as error:
        three.epsilon(delta / 2)
    said = re.search(r"(\S+) is enough", str(error.value))
    assert said is not None
    assert three.epsilon(float(said[1])) <= 3.01
