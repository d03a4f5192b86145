"""The privacy kernel: the only holder of records, secret coins and noise, with a closed set of queries.

A program takes a `PrivateTable`, opens it once with branches that fit the budget, takes one branch and asks queries of
its views. Nothing but `Released` values comes out, each charged before a record is read, so that whatever a program
computes is post-processing. Proof: proofs/kernel.md.
"""

from dimfree.kernel.counts import NoisyCounts as NoisyCounts
from dimfree.kernel.directions import Directions as Directions
from dimfree.kernel.directions import OuterProducts as OuterProducts
from dimfree.kernel.groups import GroupCosts as GroupCosts
from dimfree.kernel.groups import PrivateGroups as PrivateGroups
from dimfree.kernel.pairs import Pairs as Pairs
from dimfree.kernel.released import KernelError as KernelError
from dimfree.kernel.released import Released as Released
from dimfree.kernel.ring import RingPairs as RingPairs
from dimfree.kernel.session import Session as Session
from dimfree.kernel.table import PrivateTable as PrivateTable
from dimfree.kernel.views import View as View
