import { type Container, type KubernetesObject, type Pod, podLabelsOf, podOf, type Selector } from './deployed.ts'

/** Stable kinds that Kubernetes has deprecated. */
const deprecated = ['ComponentStatus', 'Endpoints']

/** Checks the rules that platform teams have for every pod, and that objects that others refer to exist. */
export function auditObjects(objects: readonly KubernetesObject[], routes: ReadonlySet<string>): string[] {
  const faults: string[] = []
  for (const object of objects) {
    if (/v\d+(alpha|beta)\d+$/.test(object.apiVersion) || deprecated.includes(object.kind)) {
      faults.push(`${object.kind} ${object.metadata.name}: the next Kubernetes may not have ${object.apiVersion}`)
    }
    const pod = podOf(object)
    if (pod === null) continue
    const name = `${object.kind} ${object.metadata.name}`
    for (const words of auditPod(pod)) faults.push(`${name}: ${words}`)
    for (const container of [...(pod.initContainers ?? []), ...pod.containers]) {
      for (const words of auditContainer(container, routes)) faults.push(`${name}, ${container.name}: ${words}`)
    }
    for (const container of pod.containers) {
      for (const words of auditProbes(object.kind, container, routes))
        faults.push(`${name}, ${container.name}: ${words}`)
    }
  }
  return [...faults, ...auditSelectors(objects, routes)]
}

function auditPod({ automountServiceAccountToken, securityContext, volumes = [] }: Pod): string[] {
  const faults: string[] = []
  if (automountServiceAccountToken !== false) faults.push('a token of the service account is mounted')
  if (securityContext?.runAsNonRoot !== true) faults.push('may run as root')
  if (securityContext?.seccompProfile?.type !== 'RuntimeDefault') faults.push('has no seccomp profile')
  for (const { name, emptyDir } of volumes) {
    if (emptyDir !== undefined && emptyDir.sizeLimit === undefined) faults.push(`the folder ${name} has no size limit`)
  }
  return faults
}

/** The container whose image writes to its root file system. */
const withWritableRoot = 'opensearch'

function auditContainer(container: Container, routes: ReadonlySet<string>): string[] {
  const { name, image, command = [], resources, securityContext = {} } = container
  const faults: string[] = []
  for (const [, path] of command.join('\n').matchAll(/:8080(\/\w*)/g)) {
    if (!routes.has(path!)) faults.push(`requests ${path}, which is not a route`)
  }
  const { allowPrivilegeEscalation, readOnlyRootFilesystem, capabilities } = securityContext
  if (allowPrivilegeEscalation !== false) faults.push('may gain privileges')
  if (readOnlyRootFilesystem !== true && name !== withWritableRoot) faults.push('its root file system is writable')
  if (!capabilities?.drop?.includes('ALL')) faults.push('does not drop all capabilities')
  if (!/:[\w.-]*\d\.\d[\w.-]*(@sha256:[0-9a-f]{64})?$/.test(image)) faults.push(`has the floating tag ${image}`)
  if (resources?.requests?.cpu === undefined || resources.limits?.memory === undefined) {
    faults.push('has no CPU request or no memory limit')
  }
  return faults
}

function auditProbes(kind: string, container: Container, routes: ReadonlySet<string>): string[] {
  const { name, startupProbe, readinessProbe, livenessProbe } = container
  const probes = [startupProbe, readinessProbe, livenessProbe]
  const isLongRunning = kind === 'Deployment' || kind === 'StatefulSet'
  const faults: string[] = []
  if (isLongRunning && (startupProbe === undefined || readinessProbe === undefined))
    faults.push('has no startup or readiness probe')
  if (name !== 'tidemark') return faults
  for (const path of probes.flatMap((probe) => probe?.httpGet?.path ?? [])) {
    if (!routes.has(path)) faults.push(`is probed at ${path}, which is not a route`)
  }
  if (livenessProbe === undefined) faults.push('has no liveness probe')
  return faults
}

/** Services that select no pod and monitors that select no service would fail silently. */
function auditSelectors(objects: readonly KubernetesObject[], routes: ReadonlySet<string>): string[] {
  const faults: string[] = []
  const matches = (required: object, labels: object = {}): boolean =>
    Object.entries(required).every(([name, value]) => (labels as Record<string, unknown>)[name] === value)
  for (const { kind, metadata, spec } of objects) {
    if (kind === 'Service') {
      const pods = objects.map((object) => object.spec?.template?.metadata.labels)
      if (!pods.some((labels) => labels !== undefined && matches(spec!.selector!, labels))) {
        faults.push(`Service ${metadata.name} selects no pod`)
      }
    }
    if (kind !== 'ServiceMonitor') continue
    const { matchLabels = {} } = spec!.selector as { matchLabels?: object }
    const found = objects.filter((other) => other.kind === 'Service' && matches(matchLabels, other.metadata.labels))
    if (found.length !== 1) faults.push(`ServiceMonitor ${metadata.name} selects ${found.length} services`)
    for (const { port, path } of spec!.endpoints!) {
      if (!routes.has(path)) faults.push(`ServiceMonitor ${metadata.name} requests ${path}, which is not a route`)
      if (!found.every((service) => service.spec!.ports!.some(({ name }) => name === port))) {
        faults.push(`ServiceMonitor ${metadata.name} names the port ${port}, which its service does not have`)
      }
    }
  }
  return faults
}

const longRunning = ['Deployment', 'StatefulSet']

/** Checks the objects beside the pods: who may call them, whom they may call, and that not all of them stop at once. */
export function auditProtection(objects: readonly KubernetesObject[]): string[] {
  const faults: string[] = []
  const selecting = (kind: string, labels: Labels): KubernetesObject[] =>
    objects.filter(
      ({ kind: one, spec }) => one === kind && selects(spec?.podSelector ?? (spec?.selector as Selector), labels),
    )
  for (const object of objects) {
    const labels = podLabelsOf(object)
    if (labels === null) continue
    const { kind, metadata, spec } = object
    const fault = (words: string) => faults.push(`${kind} ${metadata.name}: ${words}`)
    for (const direction of ['Ingress', 'Egress']) {
      const policies = selecting('NetworkPolicy', labels)
      if (!policies.some((one) => one.spec!.policyTypes!.includes(direction)))
        fault(`no policy limits its ${direction}`)
    }
    if (!longRunning.includes(kind) || spec!.replicas === 1) continue
    if (selecting('PodDisruptionBudget', labels).length !== 1) fault('must have exactly one disruption budget')
    if (!podOf(object)!.topologySpreadConstraints?.length) fault('may have all its pods on one node')
  }
  return faults
}

/** Checks a whole release: that deployments scale, and that the migration runs before them. */
export function auditRelease(objects: readonly KubernetesObject[]): string[] {
  const faults: string[] = []
  const named = (kind: string) => objects.filter((one) => one.kind === kind)
  for (const { metadata } of named('Deployment')) {
    const scaled = named('HorizontalPodAutoscaler').filter(({ spec }) => spec!.scaleTargetRef!.name === metadata.name)
    if (scaled.length !== 1) faults.push(`Deployment ${metadata.name} must have exactly one autoscaler`)
  }
  if (named('CronJob').length !== 1) faults.push('there must be exactly one backup job')
  const hooks = objects.filter(({ metadata }) => metadata.annotations?.['helm.sh/hook'] === 'pre-install,pre-upgrade')
  const weightOf = (kind: string) => {
    const [hook, ...others] = hooks.filter((one) => one.kind === kind)
    return others.length === 0 ? Number(hook?.metadata.annotations?.['helm.sh/hook-weight'] ?? Number.NaN) : Number.NaN
  }
  if (!(weightOf('NetworkPolicy') < weightOf('Job'))) {
    faults.push('the migration must be a hook before install and upgrade, and its network policy must come before it')
  }
  return faults
}

/** Checks the objects that a value switches on. */
export function auditEntries(objects: readonly KubernetesObject[]): string[] {
  const faults: string[] = []
  const [ingress] = objects.filter(({ kind }) => kind === 'Ingress')
  if (!ingress?.spec?.tls?.length) faults.push('there is no ingress with TLS')
  if (!objects.some(({ kind }) => kind === 'ServiceMonitor')) faults.push('there is no ServiceMonitor')
  return faults
}

type Labels = Readonly<Record<string, string>>

function selects({ matchLabels = {}, matchExpressions = [] }: Selector, labels: Labels): boolean {
  return (
    Object.entries(matchLabels).every(([name, value]) => labels[name] === value) &&
    matchExpressions.every(({ key, operator, values = [] }) => operator === 'In' && values.includes(labels[key] ?? ''))
  )
}
