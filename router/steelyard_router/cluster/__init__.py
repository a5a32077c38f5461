"""A router's duties in a cluster. Imported only there: nothing else here needs Kubernetes."""
