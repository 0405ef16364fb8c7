import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse, parseAllDocuments } from 'yaml'

/** Reads the processes that the files in deploy start: manifests, compose files and the systemd unit. */
export const deployFolder = join(import.meta.dirname, '..', 'deploy')

type Environment = Readonly<Record<string, string>>

/** A process of Tidemark that a file starts. */
export interface Process {
  readonly where: string
  readonly environment: Environment
  /** Secrets that it reads from files. */
  readonly secretFiles: Readonly<Record<string, string>>
}

/** Only the fields that checks use. */
export interface KubernetesObject {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: { readonly name: string; readonly labels?: Environment; readonly annotations?: Environment }
  readonly data?: Environment
  readonly spec?: {
    readonly template?: { readonly metadata: Labelled; readonly spec: Pod }
    readonly jobTemplate?: { readonly spec: { readonly template: { readonly metadata: Labelled; readonly spec: Pod } } }
    readonly selector?: Environment | Selector
    readonly podSelector?: Selector
    readonly policyTypes?: readonly string[]
    readonly replicas?: number
    readonly scaleTargetRef?: { readonly kind: string; readonly name: string }
    readonly tls?: readonly { readonly secretName: string }[]
    readonly ports?: readonly { readonly name: string }[]
    readonly endpoints?: readonly { readonly port: string; readonly path: string }[]
  }
}

export interface Selector {
  readonly matchLabels?: Environment
  readonly matchExpressions?: readonly {
    readonly key: string
    readonly operator: string
    readonly values?: readonly string[]
  }[]
}

interface Labelled {
  readonly labels: Environment
}

export interface Pod {
  readonly automountServiceAccountToken?: boolean
  readonly securityContext?: { readonly runAsNonRoot?: boolean; readonly seccompProfile?: { readonly type: string } }
  readonly containers: readonly Container[]
  readonly initContainers?: readonly Container[]
  readonly volumes?: readonly { readonly name: string; readonly emptyDir?: { readonly sizeLimit?: string } }[]
  readonly topologySpreadConstraints?: readonly object[]
}

interface Probe {
  readonly httpGet?: { readonly path: string }
}

export interface Container {
  readonly name: string
  readonly image: string
  readonly command?: readonly string[]
  readonly env?: readonly {
    readonly name: string
    readonly value?: string
    readonly valueFrom?: { readonly secretKeyRef?: { readonly key: string } }
  }[]
  readonly envFrom?: readonly { readonly configMapRef: { readonly name: string } }[]
  readonly startupProbe?: Probe
  readonly readinessProbe?: Probe
  readonly livenessProbe?: Probe
  readonly resources?: { readonly requests?: Environment; readonly limits?: Environment }
  readonly securityContext?: {
    readonly allowPrivilegeEscalation?: boolean
    readonly readOnlyRootFilesystem?: boolean
    readonly capabilities?: { readonly drop?: readonly string[] }
  }
}

export const objectsIn = (text: string): KubernetesObject[] =>
  parseAllDocuments(text)
    .map((document) => document.toJS() as KubernetesObject | null)
    .filter((object) => object !== null)

export const podOf = ({ spec }: KubernetesObject): Pod | null =>
  spec?.template?.spec ?? spec?.jobTemplate?.spec.template.spec ?? null

/** The labels of its pods, by which policies and budgets find them. */
export const podLabelsOf = ({ spec }: KubernetesObject): Environment | null =>
  spec?.template?.metadata.labels ?? spec?.jobTemplate?.spec.template.metadata.labels ?? null

/** A secret that is valid for every setting. */
const aSecret = 'a-secret-of-many-letters'

/** The containers of Tidemark's own image that read settings. */
export function processesIn(objects: readonly KubernetesObject[]): Process[] {
  return objects.flatMap((object) =>
    (podOf(object)?.containers ?? [])
      .filter(({ image }) => /(^|\/)tidemark:/.test(image))
      .map((container) => {
        const maps = (container.envFrom ?? []).map(({ configMapRef }) => {
          const map = objects.find(({ kind, metadata }) => kind === 'ConfigMap' && metadata.name === configMapRef.name)
          if (map?.data === undefined)
            throw new Error(`${object.metadata.name} names the missing map ${configMapRef.name}`)
          return map.data
        })
        const own = (container.env ?? []).map(({ name, value }) => [name, value ?? aSecret] as const)
        return asProcess(`${object.kind} ${object.metadata.name}`, {
          ...Object.assign({}, ...maps),
          ...Object.fromEntries(own),
        })
      }),
  )
}

function asProcess(where: string, all: Environment): Process {
  const entries = Object.entries(all)
  const isFile = ([name]: readonly [string, string]): boolean => name.startsWith('TIDEMARK_') && name.endsWith('_FILE')
  return {
    where,
    // A value instead of the name of the file, which does not exist here.
    environment: Object.fromEntries(
      entries.map((entry) => (isFile(entry) ? [entry[0].slice(0, -'_FILE'.length), aSecret] : entry)),
    ),
    secretFiles: Object.fromEntries(entries.filter(isFile)),
  }
}

export interface ComposeService {
  readonly image?: string
  readonly environment?: Environment
  readonly healthcheck?: { readonly test: string | readonly string[] }
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>
  readonly deploy?: { readonly resources?: { readonly limits?: { readonly cpus?: string; readonly memory?: string } } }
}

export interface ComposeFile {
  readonly name: string
  readonly services: Readonly<Record<string, ComposeService>>
}

export const composeFiles = (): ComposeFile[] =>
  globSync('compose*.yaml', { cwd: deployFolder }).map((name) => {
    const text = readFileSync(join(deployFolder, name), 'utf8').replaceAll(/\$\{\w+:\?[^}]*\}/g, aSecret)
    return { name, services: parse(text, { merge: true }).services as ComposeFile['services'] }
  })

export const processesOf = ({ name, services }: ComposeFile): Process[] =>
  Object.entries(services)
    .filter(([, { environment = {} }]) => Object.keys(environment).some((name) => name.startsWith('TIDEMARK_')))
    .map(([service, { environment }]) => asProcess(`${name}: ${service}`, environment!))

export function unitProcess(): Process {
  const text = readFileSync(join(deployFolder, 'tidemark.service'), 'utf8')
  const pairs = Array.from(text.matchAll(/^Environment=(.*)$/gm)).flatMap(([, list]) => list!.split(' '))
  return asProcess('tidemark.service', Object.fromEntries(pairs.map((pair) => pair.split('=', 2) as [string, string])))
}
