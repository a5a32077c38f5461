"""How far the simulation can be believed: beside real engines, and beside simulated ones on a wire.

    steelyard bench fidelity        (make fidelity)

Question. `steelyard simulate` says which policy is better on a trace and by how much. Does the same
come out when the live router does it, with real HTTP, in front of (a) real engines and (b)
processes of the simulated engine?

Real engines. vLLM's build for CPUs, as `make e2e-engine` installs it, with random weights in a
shape that makes one core to a tiny accelerator: a step takes about 7 ms, a prompt token 0.2 ms.
There are two servers, each held to one core (affinity of the whole server, its API process
included; one thread), so that they share no core with each other. They do share the machine's
memory bandwidth and last cache, and router and client take their time from both cores. Neither is
in the simulation; the first slows long prompts by up to a third, so that the engines are probed
both at once, as they run in the replay.

Fit. Each server is asked, in the way of a client, for lone prompts of many lengths, prompts whose
beginning is cached, and replies beside others of two lengths (probe.py). What the engine had to
compute for each is known beforehand (work.py), so every time is a sum of known amounts times
unknown costs: those of the engine's Profile, and `overhead_s`, what a request takes outside of
steps: HTTP, tokenising, the way of the first token back. Non-negative least squares of relative
errors gives the costs (fit.py). The overhead through the router is measured by lone cached prompts,
and is added to what the simulation says of each request. No figure of the replays goes into the
fit. Machines that others use too change their pace, so the probes are spread over the study: a
round before each replay and one behind the last (calibration.py). One fit over all of them is what
the bars are read on; the fits around each replay are shown beside it.

Replay. A real trace made small (slice.py): whole conversations of it, lengths divided so that they
fit, blocks joined so that router, engine and simulation see the same beginnings. It is played open
loop through the live router, once per policy, each time from empty caches and with a new router,
and with the same arrival times through the simulation, where the same code decides. The simulation
is run with several jitters of the arrivals: their spread is what a single live run may be off by
chance alone, since a placement that falls differently changes those after it.

Simulated engines. The same replay again in front of `steelyard engine` processes with the fitted
profile, faster than real time by a factor: what differs from the simulation then is HTTP, the event
loop and the clock, not the model of the engine.

Everything that was measured is in one JSON (study.py); the page docs/fidelity.md is written from
it alone (page.py). Servers and routers are children of this process that end with it (process.py).
"""
