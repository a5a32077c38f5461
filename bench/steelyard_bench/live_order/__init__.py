"""What ordering is worth on real engines that have more to do than they can.

    steelyard bench live-order

Question. Clients ask for half as much again as the engines can do. Some of them want a short
answer soon (`strict`), most a long one some time (`loose`). How many of the strict ones get it in
time if requests are served in order of arrival, and how many if they are ordered by what they need:
in front of the engines, inside of them, or both?

Engines. Three of vLLM's build for CPUs, as the study of fidelity starts them, each with one thread
and four sequences at a time, so that what is too much waits and does not slow down what runs. They
are started twice: with `--scheduling-policy fcfs`, as they are by default, and with `priority`, so
that they obey the rank that the router gives each request.

Load. How much the engines can do is measured first: a closed loop of the same mix that keeps them
full, with some waiting in each (capacity.py). The targets are multiples of what a request takes
then (target.py). Arrivals are Poisson at 1.5 times what was measured, for half a minute, then
whatever is left is waited for (load.py). A workload is told by the length of its prompts. Every
cell of a repeat gets the same requests at the same times, with words of its own, so that no prompt
is in a cache. A router is started anew for each cell and has learned nothing.

Cells. One for each way of ordering (cell.py). They take turns, forwards and backwards, since a
machine that others use too changes its pace; what others took of it is noted with each. A request
that is rejected, fails or is not answered has missed its target.

Bar. At least twice as many of the strict class in time as in order of arrival, of whose two cells
the better one counts (verdict.py); with engines of either kind, each compared with those of its own
kind.
"""
