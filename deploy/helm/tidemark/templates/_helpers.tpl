{{- define "tidemark.fullname" -}}
{{- if .Values.fullnameOverride }}{{ .Values.fullnameOverride | trunc 50 | trimSuffix "-" }}
{{- else if contains .Chart.Name .Release.Name }}{{ .Release.Name | trunc 50 | trimSuffix "-" }}
{{- else }}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 50 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{- define "tidemark.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "tidemark.labels" -}}
{{ include "tidemark.selector" . }}
app.kubernetes.io/version: {{ .Values.image.tag | default .Chart.AppVersion | quote }}
{{- end }}

{{- define "tidemark.image" -}}
{{- with .Values.image -}}
{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}{{ with .digest }}@{{ . }}{{ end }}
{{- end -}}
{{- end }}

{{/* The revision of the pods, which changes with the image and the settings. */}}
{{- define "tidemark.revision" -}}
{{ printf "%s %s" (include "tidemark.image" .) (include "tidemark.settings" .) | sha256sum | trunc 16 }}
{{- end }}

{{- define "tidemark.caFile" -}}/etc/tidemark/ca/ca.crt{{- end }}

{{- define "tidemark.hasCa" -}}{{ if or .Values.tls.ca.secret .Values.tls.ca.configMap }}yes{{ end }}{{- end }}

{{/* The address of the store. The password is in a file. */}}
{{- define "tidemark.databaseSettings" -}}
{{- with .Values.database -}}
TIDEMARK_DATABASE_URL: {{ printf "postgres://%s:%d/%s?sslmode=%s" .host (int .port) .name .sslMode | quote }}
TIDEMARK_DATABASE_USER: {{ .user | quote }}
{{- end }}
{{- if include "tidemark.hasCa" . }}
NODE_EXTRA_CA_CERTS: {{ include "tidemark.caFile" . }}
{{- end }}
{{- end }}

{{/* Settings that are not secret and are the same in every process. */}}
{{- define "tidemark.settings" -}}
{{ include "tidemark.databaseSettings" . }}
TIDEMARK_DATABASE_CONNECTIONS_MAX: {{ .Values.database.connectionsMax | quote }}
TIDEMARK_ARTIFACTS_URL: {{ .Values.artifacts.url | quote }}
# Nodes remove a pod from their routing tables a little after it was asked to stop.
TIDEMARK_SHUTDOWN_DRAIN_MS: "5000"
{{- with .Values.search }}
{{- if .urls }}
TIDEMARK_SEARCH_URL: {{ join "," .urls | quote }}
TIDEMARK_SEARCH_PREFIX: {{ .prefix | quote }}
TIDEMARK_SEARCH_SHARDS: {{ .shards | quote }}
{{- if .user }}
TIDEMARK_SEARCH_USER: {{ .user | quote }}
{{- end }}
{{- end }}
{{- end }}
{{- with .Values.tracing.endpoint }}
OTEL_EXPORTER_OTLP_ENDPOINT: {{ . | quote }}
{{- end }}
{{- with .Values.embedding.url }}
TIDEMARK_EMBEDDING_URL: {{ . | quote }}
{{- end }}
{{- with .Values.embedding.model }}
TIDEMARK_EMBEDDING_MODEL: {{ . | quote }}
{{- end }}
{{- range $name, $value := .Values.settings }}
{{ $name }}: {{ $value | quote }}
{{- end }}
{{- end }}

{{/* The secrets that a part ("migrate", "worker" or "api") needs, as files. */}}
{{- define "tidemark.secretFiles" -}}
{{- $keys := .root.Values.secret.keys -}}
TIDEMARK_DATABASE_PASSWORD_FILE: {{ $keys.databasePassword }}
{{- if ne .part "migrate" }}
{{- if and .root.Values.search.urls .root.Values.search.user }}
TIDEMARK_SEARCH_PASSWORD_FILE: {{ $keys.searchPassword }}
{{- end }}
{{- if and .root.Values.embedding.url $keys.embeddingKey }}
TIDEMARK_EMBEDDING_KEY_FILE: {{ $keys.embeddingKey }}
{{- end }}
{{- if and (eq .part "api") .root.Values.adminToken.enabled }}
TIDEMARK_ADMIN_TOKEN_FILE: {{ $keys.adminToken }}
{{- end }}
{{- end }}
{{- end }}

{{- define "tidemark.secretEnv" -}}
{{- range $name, $key := include "tidemark.secretFiles" . | fromYaml }}
- { name: {{ $name }}, value: /etc/tidemark/secrets/{{ $key }} }
{{- end }}
{{- if ne .part "migrate" }}
{{- if not (and (eq .part "api") .root.Values.adminToken.enabled) }}
# No shared admin token: administrators have tokens of their own.
- { name: TIDEMARK_ADMIN_TOKEN, value: none }
{{- end }}
{{- with .root.Values.secret.keys }}
{{- if and .s3AccessKeyId (hasPrefix "s3://" $.root.Values.artifacts.url) }}
- name: AWS_ACCESS_KEY_ID
  valueFrom:
    secretKeyRef: { name: {{ $.root.Values.secret.name }}, key: {{ .s3AccessKeyId }} }
- name: AWS_SECRET_ACCESS_KEY
  valueFrom:
    secretKeyRef: { name: {{ $.root.Values.secret.name }}, key: {{ .s3SecretAccessKey }} }
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{- define "tidemark.secretVolumes" -}}
- name: secrets
  secret:
    secretName: {{ .root.Values.secret.name }}
    defaultMode: 0440
    items:
      {{- range include "tidemark.secretFiles" . | fromYaml | values | uniq | sortAlpha }}
      - { key: {{ . }}, path: {{ . }} }
      {{- end }}
{{- with .root.Values.tls.ca }}
{{- if .secret }}
- name: ca
  secret:
    secretName: {{ .secret }}
    items:
      - { key: {{ .key }}, path: ca.crt }
{{- else if .configMap }}
- name: ca
  configMap:
    name: {{ .configMap }}
    items:
      - { key: {{ .key }}, path: ca.crt }
{{- end }}
{{- end }}
{{- end }}

{{- define "tidemark.secretMounts" -}}
- { name: secrets, mountPath: /etc/tidemark/secrets, readOnly: true }
{{- if include "tidemark.hasCa" .root }}
- { name: ca, mountPath: /etc/tidemark/ca, readOnly: true }
{{- end }}
{{- end }}

{{- define "tidemark.podSecurity" -}}
runAsNonRoot: true
runAsUser: 1000
runAsGroup: 1000
fsGroup: 1000
fsGroupChangePolicy: OnRootMismatch
seccompProfile: { type: RuntimeDefault }
{{- end }}

{{- define "tidemark.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: { drop: [ALL] }
{{- end }}

{{- define "tidemark.pullSecrets" -}}
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
{{- end }}

{{/* The deployment of a part, "api" or "worker", whose values are in `own`. */}}
{{- define "tidemark.deployment" -}}
{{- $root := .root -}}
{{- $name := printf "%s-%s" (include "tidemark.fullname" .root) .part -}}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ $name }}
  labels:
    {{- include "tidemark.labels" .root | nindent 4 }}
    app.kubernetes.io/component: {{ .part }}
spec:
  {{- if not .own.autoscaling.enabled }}
  replicas: {{ .own.replicas }}
  {{- end }}
  revisionHistoryLimit: 5
  # A pod may wait for others for a long time before the rollout counts as failed.
  progressDeadlineSeconds: {{ add 1800 (.own.waitForApiSeconds | default 0) }}
  strategy:
    type: RollingUpdate
    rollingUpdate: { maxSurge: 1, maxUnavailable: 0 }
  selector:
    matchLabels:
      {{- include "tidemark.selector" .root | nindent 6 }}
      app.kubernetes.io/component: {{ .part }}
  template:
    metadata:
      labels:
        {{- include "tidemark.labels" .root | nindent 8 }}
        app.kubernetes.io/component: {{ .part }}
        tidemark/revision: {{ include "tidemark.revision" .root | quote }}
        tidemark/metrics: "true"
        {{- with .own.podLabels }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      annotations:
        # Changed settings replace the pods. After changing the secret, change secret.revision.
        checksum/settings: {{ include "tidemark.settings" .root | sha256sum }}
        {{- with .root.Values.secret.revision }}
        tidemark/secret-revision: {{ . | quote }}
        {{- end }}
        {{- with .own.podAnnotations }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
    spec:
      serviceAccountName: {{ include "tidemark.fullname" .root }}
      automountServiceAccountToken: false
      enableServiceLinks: false
      terminationGracePeriodSeconds: 45
      {{- with .own.priorityClassName }}
      priorityClassName: {{ . }}
      {{- end }}
      {{- include "tidemark.pullSecrets" .root | nindent 6 }}
      securityContext:
        {{- include "tidemark.podSecurity" .root | nindent 8 }}
      topologySpreadConstraints:
        {{- range list "kubernetes.io/hostname" "topology.kubernetes.io/zone" }}
        - maxSkew: 1
          topologyKey: {{ . }}
          whenUnsatisfiable: ScheduleAnyway
          labelSelector:
            matchLabels:
              {{- include "tidemark.selector" $root | nindent 14 }}
              app.kubernetes.io/component: {{ $.part }}
        {{- end }}
      {{- with .own.nodeSelector }}
      nodeSelector:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with .own.tolerations }}
      tolerations:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with .own.affinity }}
      affinity:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- if and (eq .part "worker") .own.waitForApiSeconds }}
      initContainers:
        # The service at this address has only api pods of the same revision, so workers start after the first of them is ready.
        # When the time is over, a worker starts anyway, because most of its work does not depend on api pods.
        - name: wait-for-api
          image: {{ include "tidemark.image" .root }}
          imagePullPolicy: {{ .root.Values.image.pullPolicy }}
          command:
            - node
            - --input-type=module
            - -e
            - |
              const end = Date.now() + {{ int .own.waitForApiSeconds }} * 1000
              const ready = () => fetch('http://{{ include "tidemark.fullname" .root }}-revision:8080/readyz', { signal: AbortSignal.timeout(5000) }).then(({ ok }) => ok, () => false)
              while (!(await ready())) {
                if (Date.now() > end) { console.log('no api pod of this revision is ready: starting anyway'); break }
                await new Promise((resolve) => setTimeout(resolve, 2000))
              }
          resources:
            requests: { cpu: 10m, memory: 64Mi }
            limits: { memory: 256Mi }
          securityContext:
            {{- include "tidemark.containerSecurity" .root | nindent 12 }}
      {{- end }}
      containers:
        - name: tidemark
          image: {{ include "tidemark.image" .root }}
          imagePullPolicy: {{ .root.Values.image.pullPolicy }}
          envFrom:
            - configMapRef: { name: {{ include "tidemark.fullname" .root }} }
          env:
            - { name: TIDEMARK_ROLES, value: {{ .part }} }
            {{- include "tidemark.secretEnv" . | nindent 12 }}
            {{- with .root.Values.extraEnv }}
            {{- toYaml . | nindent 12 }}
            {{- end }}
          ports:
            - { name: http, containerPort: 8080 }
          # The process listens once its store is open and migrated. It waits while the database is down.
          startupProbe:
            httpGet: { path: /healthz, port: http }
            periodSeconds: 2
            timeoutSeconds: 5
            failureThreshold: {{ div .root.Values.startupSeconds 2 }}
          readinessProbe:
            httpGet: { path: /readyz, port: http }
            periodSeconds: 5
            timeoutSeconds: 5
          livenessProbe:
            httpGet: { path: /healthz, port: http }
            periodSeconds: 10
            timeoutSeconds: 10
            failureThreshold: 6
          resources:
            {{- toYaml .own.resources | nindent 12 }}
          securityContext:
            {{- include "tidemark.containerSecurity" .root | nindent 12 }}
          volumeMounts:
            - { name: data, mountPath: /data }
            - { name: tmp, mountPath: /tmp }
            {{- include "tidemark.secretMounts" . | nindent 12 }}
      volumes:
        # The data folder can be lost with the pod, because it can be rebuilt from the database.
        - name: data
          emptyDir: { sizeLimit: {{ .own.dataSize }} }
        - name: tmp
          emptyDir: { sizeLimit: {{ .own.tmpSize }} }
        {{- include "tidemark.secretVolumes" . | nindent 8 }}
{{- end }}

{{- define "tidemark.autoscaler" -}}
{{- $name := printf "%s-%s" (include "tidemark.fullname" .root) .part -}}
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata:
  name: {{ $name }}
  labels:
    {{- include "tidemark.labels" .root | nindent 4 }}
    app.kubernetes.io/component: {{ .part }}
spec:
  scaleTargetRef: { apiVersion: apps/v1, kind: Deployment, name: {{ $name }} }
  minReplicas: {{ .own.autoscaling.minReplicas }}
  maxReplicas: {{ .own.autoscaling.maxReplicas }}
  metrics:
    - type: Resource
      resource:
        name: cpu
        target: { type: Utilization, averageUtilization: {{ .own.autoscaling.cpuPercent }} }
  behavior:
    # A removed pod releases its leases. If it had an index of its own, the next pod rebuilds it.
    scaleDown:
      stabilizationWindowSeconds: 600
      policies:
        - { type: Pods, value: 1, periodSeconds: 300 }
{{- end }}

{{- define "tidemark.disruptionBudget" -}}
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ include "tidemark.fullname" .root }}-{{ .part }}
  labels:
    {{- include "tidemark.labels" .root | nindent 4 }}
    app.kubernetes.io/component: {{ .part }}
spec:
  maxUnavailable: 1
  # An unready pod does not keep a node from being drained.
  unhealthyPodEvictionPolicy: AlwaysAllow
  selector:
    matchLabels:
      {{- include "tidemark.selector" .root | nindent 6 }}
      app.kubernetes.io/component: {{ .part }}
{{- end }}

{{/* The port of an address: its own, or the default of its scheme. */}}
{{- define "tidemark.portOf" -}}
{{- $url := urlParse . -}}
{{- with regexFind ":[0-9]+$" $url.host }}{{ trimPrefix ":" . }}{{ else }}{{ eq $url.scheme "https" | ternary 443 80 }}{{ end -}}
{{- end }}

{{/* The ports that Tidemark calls besides the database, one per line. */}}
{{- define "tidemark.calledPorts" -}}
{{- $ports := list }}
{{- range .Values.search.urls }}{{ $ports = append $ports (include "tidemark.portOf" .) }}{{ end }}
{{- range list .Values.embedding.url .Values.settings.TIDEMARK_RERANK_URL .Values.tracing.endpoint }}
{{- with . }}{{ $ports = append $ports (include "tidemark.portOf" .) }}{{ end }}
{{- end }}
{{- if hasPrefix "s3://" .Values.artifacts.url }}
{{- $endpoint := regexReplaceAll "^.*[?&]endpoint=([^&]*).*$" .Values.artifacts.url "${1}" }}
{{- $ports = append $ports (hasPrefix "http" $endpoint | ternary (include "tidemark.portOf" $endpoint) "443") }}
{{- end }}
{{- range $ports | uniq | sortAlpha }}
- {{ . }}
{{- end }}
{{- end }}

{{/* Connections that every pod may open: DNS and the database. */}}
{{- define "tidemark.egress" -}}
- ports:
    - { port: 53, protocol: UDP }
    - { port: 53, protocol: TCP }
- ports:
    - { port: {{ .Values.database.port }}, protocol: TCP }
  {{- with .Values.networkPolicy.database }}
  to:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}
