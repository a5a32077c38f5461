"""The operator in a cluster: watches, a work queue, reconciles, health. Decisions are in plan/."""
