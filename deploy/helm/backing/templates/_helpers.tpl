{{- define "backing.security" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: { drop: [ALL] }
{{- end }}

{{- define "backing.pod" -}}
automountServiceAccountToken: false
enableServiceLinks: false
securityContext:
  runAsNonRoot: true
  runAsUser: {{ . }}
  runAsGroup: {{ . }}
  fsGroup: {{ . }}
  fsGroupChangePolicy: OnRootMismatch
  seccompProfile: { type: RuntimeDefault }
{{- end }}

{{- define "backing.claim" -}}
volumeClaimTemplates:
  - metadata:
      name: data
    spec:
      accessModes: [ReadWriteOnce]
      resources:
        requests: { storage: {{ . }} }
{{- end }}

{{/* Only Tidemark may connect to this port. The server's own parts may connect only to each other and to DNS. */}}
{{- define "backing.policy" -}}
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  name: {{ .app }}
spec:
  podSelector:
    matchLabels: { app: {{ .app }} }
  policyTypes: [Ingress, Egress]
  ingress:
    - ports:
        - { port: {{ .port }}, protocol: TCP }
      from:
        - podSelector:
            matchLabels: { app.kubernetes.io/name: tidemark }
    {{- with .peers }}
    # The server's own parts.
    - from:
        - podSelector:
            matchExpressions:
              - { key: app, operator: In, values: [{{ join ", " . }}] }
    {{- end }}
  {{- with .peers }}
  egress:
    - ports:
        - { port: 53, protocol: UDP }
        - { port: 53, protocol: TCP }
    - to:
        - podSelector:
            matchExpressions:
              - { key: app, operator: In, values: [{{ join ", " . }}] }
  {{- else }}
  egress: []
  {{- end }}
{{- end }}
