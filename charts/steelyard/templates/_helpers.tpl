{{- define "steelyard.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 50 | trimSuffix "-" }}
{{- end }}

{{/* At most 50 characters, so that every suffix fits into 63. */}}
{{- define "steelyard.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 50 | trimSuffix "-" }}
{{- else if contains (include "steelyard.name" .) .Release.Name -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" }}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "steelyard.name" .) | trunc 50 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{- define "steelyard.selectorLabels" -}}
app.kubernetes.io/name: {{ include "steelyard.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: operator
{{- end }}

{{- define "steelyard.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{ include "steelyard.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{- define "steelyard.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (printf "%s-operator" (include "steelyard.fullname" .)) .Values.serviceAccount.name }}
{{- else -}}
{{- default "default" .Values.serviceAccount.name }}
{{- end }}
{{- end }}

{{- define "steelyard.image" -}}
{{- if .Values.image.digest -}}
{{- printf "%s@%s" .Values.image.repository .Values.image.digest }}
{{- else -}}
{{- printf "%s:%s" .Values.image.repository (default .Chart.AppVersion .Values.image.tag) }}
{{- end }}
{{- end }}

{{- define "steelyard.routerClusterRole" -}}
{{- printf "%s-router" (include "steelyard.fullname" .) }}
{{- end }}

{{/* Which pods a PodMonitor looks at: the watched namespaces, or all. */}}
{{- define "steelyard.monitoredNamespaces" -}}
{{- with .Values.watchNamespaces -}}
matchNames: {{ toJson . }}
{{- else -}}
any: true
{{- end }}
{{- end }}
