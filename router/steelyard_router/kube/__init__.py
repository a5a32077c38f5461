"""The Kubernetes API as Steelyard uses it: plain objects, server-side apply, watches that heal."""
