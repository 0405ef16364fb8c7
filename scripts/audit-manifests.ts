import { type Container, type KubernetesObject, type Pod, podLabelsOf, podOf, type Selector } from './deployed.ts'

/** Stable kinds that Kubernetes has deprecated. */
const deprecated = ['ComponentStatus', 'Endpoints']

/** Rules that platform teams have for every pod. Objects that others refer to must exist. */
export function auditObjects(objects: readonly KubernetesObject[], routes: ReadonlySet<string>): string[] {
  const faults: string[] = []
  for (const object of objects) {
    if (/v\d+(alpha|beta)\d+$/.test(object.apiVersion) || deprecated.includes(object.kind)) {
      faults.push(`${object.kind} ${object.metadata.name}: ${object.apiVersion} may be gone in the next Kubernetes`)
    }
    const pod = podOf(object)
    if (pod === null) continue
    const of = `${object.kind} ${object.metadata.name}`
    for (const words of auditPod(pod)) faults.push(`${of}: ${words}`)
    for (const container of [...(pod.initContainers ?? []), ...pod.containers]) {
      for (const words of auditContainer(container, routes)) faults.push(`${of}, ${container.name}: ${words}`)
    }
    for (const container of pod.containers) {
      for (const words of auditProbes(object.kind, container, routes)) faults.push(`${of}, ${container.name}: ${words}`)
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
    if (emptyDir !== undefined && emptyDir.sizeLimit === undefined) faults.push(`the folder ${name} has no limit`)
  }
  return faults
}

/** Its image writes beside its programs. */
const writesToItsRoot = 'opensearch'

function auditContainer(container: Container, routes: ReadonlySet<string>): string[] {
  const { name, image, command = [], resources, securityContext = {} } = container
  const faults: string[] = []
  for (const [, path] of command.join('\n').matchAll(/:8080(\/\w*)/g)) {
    if (!routes.has(path!)) faults.push(`asks for ${path}, which is no route`)
  }
  const { allowPrivilegeEscalation, readOnlyRootFilesystem, capabilities } = securityContext
  if (allowPrivilegeEscalation !== false) faults.push('may gain privileges')
  if (readOnlyRootFilesystem !== true && name !== writesToItsRoot) faults.push('its root can be written')
  if (!capabilities?.drop?.includes('ALL')) faults.push('has capabilities')
  if (!/:[\w.-]*\d\.\d[\w.-]*(@sha256:[0-9a-f]{64})?$/.test(image)) faults.push(`has the floating tag ${image}`)
  if (resources?.requests?.cpu === undefined || resources.limits?.memory === undefined) {
    faults.push('requests no CPU, or has no limit of memory')
  }
  return faults
}

function auditProbes(kind: string, container: Container, routes: ReadonlySet<string>): string[] {
  const { name, startupProbe, readinessProbe, livenessProbe } = container
  const probes = [startupProbe, readinessProbe, livenessProbe]
  const lasts = kind === 'Deployment' || kind === 'StatefulSet'
  const faults: string[] = []
  if (lasts && (startupProbe === undefined || readinessProbe === undefined))
    faults.push('has no startup or readiness probe')
  if (name !== 'tidemark') return faults
  for (const path of probes.flatMap((probe) => probe?.httpGet?.path ?? [])) {
    if (!routes.has(path)) faults.push(`is asked for ${path}, which is no route`)
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
      if (!routes.has(path)) faults.push(`ServiceMonitor ${metadata.name} asks for ${path}, which is no route`)
      if (!found.every((service) => service.spec!.ports!.some(({ name }) => name === port))) {
        faults.push(`ServiceMonitor ${metadata.name} names the port ${port}, which its service does not have`)
      }
    }
  }
  return faults
}

const lasting = ['Deployment', 'StatefulSet']

/** Checks the objects beside the pods: who may call them, whom they may call, and that not all of them go at once. */
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
    if (!lasting.includes(kind) || spec!.replicas === 1) continue
    if (selecting('PodDisruptionBudget', labels).length !== 1) fault('has not one disruption budget')
    if (!podOf(object)!.topologySpreadConstraints?.length) fault('may have all its pods on one node')
  }
  return faults
}

/** Checks a whole release: pods that scale, and an ordered migration before any of them. */
export function auditRelease(objects: readonly KubernetesObject[]): string[] {
  const faults: string[] = []
  const named = (kind: string) => objects.filter((one) => one.kind === kind)
  for (const { metadata } of named('Deployment')) {
    const scaled = named('HorizontalPodAutoscaler').filter(({ spec }) => spec!.scaleTargetRef!.name === metadata.name)
    if (scaled.length !== 1) faults.push(`Deployment ${metadata.name} has not one autoscaler`)
  }
  if (named('CronJob').length !== 1) faults.push('there is not one backup job')
  const hooks = objects.filter(({ metadata }) => metadata.annotations?.['helm.sh/hook'] === 'pre-install,pre-upgrade')
  const weightOf = (kind: string) => {
    const [hook, ...others] = hooks.filter((one) => one.kind === kind)
    return others.length === 0 ? Number(hook?.metadata.annotations?.['helm.sh/hook-weight'] ?? Number.NaN) : Number.NaN
  }
  if (!(weightOf('NetworkPolicy') < weightOf('Job'))) {
    faults.push('the migration is not a hook before install and upgrade, or its network policy comes after it')
  }
  return faults
}

/** Checks the parts that a setting switches on. */
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
