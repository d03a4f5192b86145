import numpy as np, pytest
from replay.neighbours import neighbours
from replay.ways import WAYS
CASES=[(n,r) for n,w in WAYS.items() for r in w.relations]
@pytest.mark.parametrize(("name","relation"),CASES)
def test_explore(name,relation):
    way=WAYS[name]
    table=way.table(np.random.default_rng(1))
    tot={}; bad=[]
    for pair in neighbours(table,relation,17):
        m=way.replayed(pair,relation,3)
        if m.complaints: bad.append((pair.name,m.complaints[:3]))
        for k,v in m.shares.items(): tot[k]=max(tot.get(k,0),v)
    print(name,relation,{k:round(v,3) for k,v in tot.items()})
    assert not bad, bad[:6]
