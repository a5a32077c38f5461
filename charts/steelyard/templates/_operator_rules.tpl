{{/*
All that the operator may do, in the cluster or in one namespace. No Secrets: what is wrong with one it learns from pod
status. No finalizers: owner references do not block deletion. Every write is a server-side apply, which is `patch`, and
`create` where the object is not there yet.
*/}}
{{- define "steelyard.operatorRules" -}}
- apiGroups: [steelyard.io]
  resources: [llmservices, slopolicies]
  verbs: [get, list, watch]
- apiGroups: [steelyard.io]
  resources: [llmservices/status, slopolicies/status]
  verbs: [patch]
- apiGroups: [apps]
  resources: [deployments]
  verbs: [get, list, watch, create, patch, delete]
- apiGroups: [""]
  resources: [persistentvolumeclaims, services]
  verbs: [get, list, watch, create, patch, delete]
# As long as there is a service there are these, so the operator never deletes one.
- apiGroups: [""]
  resources: [configmaps, serviceaccounts]
  verbs: [get, list, watch, create, patch]
- apiGroups: [networking.k8s.io]
  resources: [networkpolicies]
  verbs: [get, list, watch, create, patch, delete]
- apiGroups: [policy]
  resources: [poddisruptionbudgets]
  verbs: [get, list, watch, create, patch, delete]
- apiGroups: [rbac.authorization.k8s.io]
  resources: [rolebindings]
  verbs: [get, list, watch, create, patch, delete]
# A router's RoleBinding may name this role and no other.
- apiGroups: [rbac.authorization.k8s.io]
  resources: [clusterroles]
  resourceNames: [{{ include "steelyard.routerClusterRole" . }}]
  verbs: [bind]
# Why an engine is not ready: pods, and what the scheduler and kubelet report of them.
- apiGroups: [""]
  resources: [pods]
  verbs: [list, watch]
- apiGroups: [""]
  resources: [events]
  verbs: [get, list, create, patch]
{{- end }}
