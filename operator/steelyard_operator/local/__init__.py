"""The same plan as local processes, without Kubernetes."""
