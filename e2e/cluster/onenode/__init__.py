"""A real Kubernetes of one node, for machines with Go, Debian's packages and root, but no Docker.

Keeps true: everything is built from pinned modules and packages; a step that was done is not done
again; a second cluster of another checkout is not disturbed; when the processes are gone, so are
the node's network, its mounts and its containers, because they live in namespaces of their own.

Level 1 is the API: etcd, the API server, the controller manager. It needs no root, and no pod runs.
Level 2 is the whole: scheduler, kubelet, containerd, kube-proxy, CoreDNS.
"""
