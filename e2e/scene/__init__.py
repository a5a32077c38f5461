"""What the tests on a cluster share: manifests, traffic, and looks at the routers."""
