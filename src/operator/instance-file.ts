import { isDeepStrictEqual } from 'node:util'
import { type Static, Type } from 'typebox'
import { newId } from '../platform/ids.ts'
import { parseOptionalTime } from '../platform/time.ts'
import { detailsOf, messageOf, strict, validatorFor } from '../platform/validation.ts'
import { roleOf } from './answers.ts'
import { isToken, newKey, newToken } from './operator.ts'
import type { Change, OperatorStore } from './operator-store.ts'
import {
  ApplicationInput,
  ClassificationCode,
  ClassificationInput,
  CollectorInput,
  DatasetId,
  DatasetInput,
  KeyInput,
  name,
  ProfileId,
  ProfileInput,
  TokenInput,
} from './schemas.ts'
import { comparableTokenName, isSameTokenName } from './token-name.ts'

/**
 * A whole instance in one file, for `tidemark apply`. Datasets, classifications and profiles are identified by their
 * ids, applications by id or name, and keys, collectors and admin tokens by name. Objects that are not in the file stay
 * unchanged, so applying the same file again changes nothing.
 */
const listOf = <T extends Parameters<typeof Type.Array>[0]>(item: T) =>
  Type.Optional(Type.Array(item, { maxItems: 10_000 }))
export const InstanceFile = Type.Object(
  {
    datasets: listOf(Type.Object({ dataset_id: DatasetId, ...DatasetInput.properties }, strict)),
    classifications: listOf(
      Type.Object({ dataset_id: DatasetId, code: ClassificationCode, ...ClassificationInput.properties }, strict),
    ),
    embedding_profiles: listOf(Type.Object({ id: ProfileId, ...ProfileInput.properties }, strict)),
    applications: listOf(
      Type.Object(
        {
          application_id: Type.Optional(Type.String({ maxLength: 128 })),
          ...ApplicationInput.properties,
          keys: listOf(Type.Object({ name, expires_at: KeyInput.properties.expires_at }, strict)),
        },
        strict,
      ),
    ),
    collectors: listOf(Type.Object(CollectorInput.properties, strict)),
    admin_tokens: listOf(Type.Object(TokenInput.properties, strict)),
  },
  strict,
)
export type InstanceFile = Static<typeof InstanceFile>

const validate = validatorFor(InstanceFile, 'body')

export class InstanceFileError extends Error {}

export function checkInstanceFile(content: unknown): InstanceFile {
  const file = content ?? {}
  if (!validate(file)) {
    const message = messageOf(detailsOf(validate.errors))
    throw new InstanceFileError(message.replace(/^the body/, 'the file'))
  }
  const checked = file as InstanceFile
  refuseDuplicates(checked)
  return checked
}

/** Duplicate names could not be matched to existing objects when the file is applied again. */
function refuseDuplicates(file: InstanceFile): void {
  const applications = file.applications ?? []
  const named: readonly (readonly [string, readonly string[]])[] = [
    ['dataset', (file.datasets ?? []).map((one) => one.dataset_id)],
    ['classification', (file.classifications ?? []).map((one) => `${one.dataset_id}/${one.code}`)],
    ['embedding profile', (file.embedding_profiles ?? []).map((one) => one.id)],
    ['application', applications.filter((one) => one.application_id === undefined).map((one) => one.name)],
    ['application', applications.flatMap((one) => one.application_id ?? [])],
    ['collector', (file.collectors ?? []).map((one) => one.name)],
    ['admin token', (file.admin_tokens ?? []).map((one) => comparableTokenName(one.name))],
    ...applications.map((one) => [`key of ${one.name}`, (one.keys ?? []).map((key) => key.name)] as const),
  ]
  for (const [what, names] of named) {
    const seen = new Set<string>()
    const duplicate = names.find((name) => seen.size === seen.add(name).size)
    if (duplicate !== undefined) throw new InstanceFileError(`${what} "${duplicate}" is in the file twice`)
  }
}

const isPast = (expiresAt: number | null): boolean => expiresAt !== null && expiresAt <= Date.now()

export interface Plan {
  readonly changes: readonly Change[]
  /** The changes as texts, in the same order. */
  readonly lines: readonly string[]
  /** New secrets, to be shown once after the changes are made. */
  readonly secrets: readonly { readonly of: string; readonly secret: string }[]
  /** Names of new applications for which the file has no key. */
  readonly keyless: readonly string[]
}

/** The existing objects. */
type Present = Pick<
  OperatorStore,
  'datasets' | 'classifications' | 'embeddingProfiles' | 'applications' | 'collectors' | 'keys'
>

const none = async (): Promise<readonly never[]> => []

/** The objects of an instance that does not exist yet. */
export const emptyInstance: Present = {
  datasets: none,
  classifications: none,
  embeddingProfiles: none,
  applications: none,
  collectors: none,
  keys: none,
}

/** Returns the changes that make the instance match the file. */
export async function planInstance(file: InstanceFile, store: Present): Promise<Plan> {
  const changes: Change[] = []
  const lines: string[] = []
  const secrets: { of: string; secret: string }[] = []
  const keyless: string[] = []
  const add = (line: string, change: Change): void => {
    lines.push(line)
    changes.push(change)
  }
  /**
   * Adds a change that replaces a whole record, and a line that names the changed fields or says that the record is
   * new. Adds nothing if the record already matches.
   */
  const put = (what: string, existing: object | undefined, desired: Record<string, unknown>, change: Change): void => {
    const differs = Object.keys(desired).filter(
      (field) => !isDeepStrictEqual((existing as Record<string, unknown> | undefined)?.[field], desired[field]),
    )
    if (existing === undefined) add(`+ ${what}`, change)
    else if (differs.length > 0) add(`~ ${what}: ${differs.join(', ')}`, change)
  }

  const datasets = new Map((await store.datasets()).map((one) => [one.datasetId, one]))
  for (const { dataset_id: datasetId, name, description = null, retain_days: retainDays } of file.datasets ?? []) {
    const desired = { name, description, ...(retainDays === undefined ? {} : { retainDays }) }
    put(`dataset ${datasetId}`, datasets.get(datasetId), desired, { kind: 'dataset.put', datasetId, ...desired })
  }

  const codes = new Map((await store.classifications(null)).map((one) => [`${one.datasetId}/${one.code}`, one]))
  const named = new Set([...datasets.keys(), ...(file.datasets ?? []).map((one) => one.dataset_id)])
  for (const one of file.classifications ?? []) {
    const { dataset_id: datasetId, code, name, description = null, label_schema: labelSchema = {}, active = true } = one
    if (!named.has(datasetId)) {
      throw new InstanceFileError(
        `classification ${code} names dataset ${datasetId}, which is neither in the instance nor in the file`,
      )
    }
    const desired = { name, description, labelSchema, active }
    const change: Change = { kind: 'classification.put', datasetId, code, ...desired }
    put(`classification ${datasetId}/${code}`, codes.get(`${datasetId}/${code}`), desired, change)
  }

  const profiles = new Map((await store.embeddingProfiles()).map((one) => [one.profileId, one]))
  for (const { id: profileId, ...given } of file.embedding_profiles ?? []) {
    // Null means unknown, and does not erase a value that became known since.
    const desired = { ...given, dimensions: given.dimensions ?? profiles.get(profileId)?.dimensions ?? null }
    put(`embedding profile ${profileId}`, profiles.get(profileId), desired, {
      kind: 'profile.put',
      profileId,
      ...desired,
    })
  }

  const applications = await store.applications()
  for (const desired of file.applications ?? []) {
    const matching = applications.filter((one) =>
      desired.application_id === undefined ? one.name === desired.name : one.applicationId === desired.application_id,
    )
    if (desired.application_id !== undefined && matching.length === 0) {
      throw new InstanceFileError(
        `there is no application ${desired.application_id}: leave out application_id to create one`,
      )
    }
    if (matching.length > 1) {
      throw new InstanceFileError(`several applications are named "${desired.name}": add application_id`)
    }
    const existing = matching[0]
    const applicationId = existing?.applicationId ?? newId('app')
    const { name, policy, entitlements } = desired
    if (existing === undefined) {
      add(`+ application ${name}`, { kind: 'application.create', applicationId, name, policy: policy ?? {} })
      if ((desired.keys ?? []).length === 0) keyless.push(name)
    } else {
      const parts = { ...(name === existing.name ? {} : { name }), ...(policy === undefined ? {} : { policy }) }
      put(`application ${name}`, existing, parts, { kind: 'application.update', applicationId, ...parts })
    }
    const entries = existing?.entitlements.map(({ entitlement_id: _, ...entry }) => entry) ?? []
    if (entitlements !== undefined && !isDeepStrictEqual(entries, entitlements)) {
      const line = `${entries.length === 0 ? '+' : '~'} entitlements of ${name}: ${entitlements.length}`
      add(line, { kind: 'entitlements.put', applicationId, entitlements })
    }
    const keys = existing === undefined ? [] : await store.keys({ ownerId: applicationId })
    for (const key of desired.keys ?? []) {
      if (keys.some((one) => one.name === key.name && one.revokedAt === null)) continue
      const expiresAt = parseOptionalTime(key.expires_at)
      if (isPast(expiresAt)) {
        throw new InstanceFileError(`key "${key.name}" of ${name} does not exist yet, but expires in the past`)
      }
      const made = newKey('consumer', applicationId, { name: key.name, expiresAt })
      add(`+ key "${key.name}" of ${name}`, { kind: 'key.create', ...made.key })
      secrets.push({ of: `key "${key.name}" of ${name}`, secret: made.secret })
    }
  }

  const collectors = await store.collectors()
  for (const { name, datasets: writes = null } of file.collectors ?? []) {
    if (collectors.some((one) => one.name === name)) continue
    const collectorId = newId('col')
    const made = newKey('collector', collectorId, { name, expiresAt: null })
    add(`+ collector ${name}`, { kind: 'collector.create', collectorId, name, datasets: writes })
    add(`+ key of collector ${name}`, { kind: 'key.create', ...made.key })
    secrets.push({ of: `collector ${name}`, secret: made.secret })
  }

  const tokens = file.admin_tokens === undefined ? [] : (await store.keys({})).filter(isToken)
  for (const { name, role, expires_at } of file.admin_tokens ?? []) {
    const sameName = tokens.filter((one) => one.revokedAt === null && isSameTokenName(one.name ?? '', name))
    const existing = sameName.find((one) => !isPast(one.expiresAt))
    if (existing !== undefined) {
      if (roleOf(existing) === role) continue
      throw new InstanceFileError(
        `admin token "${name}" has the role ${roleOf(existing)}, which cannot change: revoke it first (tidemark admin revoke ${existing.keyId})`,
      )
    }
    const expiresAt = parseOptionalTime(expires_at)
    if (isPast(expiresAt)) {
      // The same file is applied again after the token has expired.
      if (sameName.length > 0) continue
      throw new InstanceFileError(`admin token "${name}" does not exist yet, but expires in the past`)
    }
    const made = newToken({ name, role, expiresAt })
    add(`+ admin token "${name}" (${role})`, { kind: 'key.create', ...made.key })
    secrets.push({ of: `admin token "${name}"`, secret: made.secret })
  }
  return { changes, lines, secrets, keyless }
}
