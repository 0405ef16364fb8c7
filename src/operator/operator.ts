import { type Claim, claimFor, type KeptClaim } from '../access/claim.ts'
import { type CredentialKind, credentialKinds } from '../access/credential-kinds.ts'
import type { EntitlementInput } from '../access/entitlement.ts'
import { makeKey } from '../access/keys.ts'
import type { Policy } from '../access/policy.ts'
import type { Role } from '../access/roles.ts'
import { TidemarkError } from '../platform/errors.ts'
import { newId } from '../platform/ids.ts'
import { quoted } from '../platform/quoted.ts'
import { dayMs } from '../platform/time.ts'
import { mergePatch } from './merge-patch.ts'
import type {
  Application,
  Change,
  ChangeOutcome,
  Classification,
  Collector,
  Condition,
  Dataset,
  EmbeddingProfile,
  Key,
  NewKey,
  OperatorStore,
} from './operator-store.ts'

/** An attempt fails only if another patch succeeded meanwhile, so up to this many concurrent patches all succeed. */
const patchAttemptsMax = 50

/** How long an old key stays valid after rotation by default. */
export const rotationGraceSecondsDefault = 86_400

export interface ShownKey {
  readonly keyId: string
  /** The secret is shown only here. */
  readonly secret: string
  readonly expiresAt: number | null
}

/** The operations of an operator, for the admin API and the command line. */
export class Operator {
  readonly read: Omit<OperatorStore, 'commit'>
  #store: OperatorStore
  #changed: () => void = () => {}

  constructor(store: OperatorStore) {
    this.read = store
    this.#store = store
  }

  /** `changed` is called after each committed change, so that this process applies it to the next request. */
  onChange(changed: () => void): void {
    this.#changed = changed
  }

  async commit(
    actor: string,
    changes: readonly Change[],
    claim: KeptClaim | null = null,
  ): Promise<readonly ChangeOutcome[]> {
    const outcomes = await this.#store.commit(changes, { actor, at: Date.now() }, claim)
    this.#changed()
    return outcomes
  }

  async createApplication(
    actor: string,
    input: { name: string; policy: Policy; entitlements: readonly EntitlementInput[] },
    claim: Claim | null = null,
  ): Promise<Application> {
    const applicationId = newId('app')
    const changes = [
      { kind: 'application.create', applicationId, name: input.name, policy: input.policy },
      { kind: 'entitlements.put', applicationId, entitlements: input.entitlements },
    ] as const
    await this.commit(actor, changes, claimFor(claim, applicationId))
    return this.application(applicationId)
  }

  async dataset(datasetId: string): Promise<Dataset> {
    const dataset = (await this.#store.datasets()).find((one) => one.datasetId === datasetId)
    if (dataset === undefined) throw new TidemarkError('not_found', `there is no dataset ${quoted(datasetId)}`)
    return dataset
  }

  async classification(datasetId: string, code: string): Promise<Classification> {
    const found = (await this.#store.classifications(datasetId)).find((one) => one.code === code)
    if (found === undefined)
      throw new TidemarkError('not_found', `dataset ${datasetId} has no classification ${quoted(code)}`)
    return found
  }

  async profile(profileId: string): Promise<EmbeddingProfile> {
    const profile = (await this.#store.embeddingProfiles()).find((one) => one.profileId === profileId)
    if (profile === undefined)
      throw new TidemarkError('not_found', `there is no embedding profile ${quoted(profileId)}`)
    return profile
  }

  async application(applicationId: string): Promise<Application> {
    const application = await this.#store.application(applicationId)
    if (application === null) throw new TidemarkError('not_found', `there is no application ${quoted(applicationId)}`)
    return application
  }

  /**
   * Changes the name, and applies a JSON merge patch to the current policy. If two patches are concurrent, the second
   * is applied to the result of the first, so that neither is lost.
   */
  async patchApplication(
    actor: string,
    applicationId: string,
    patch: { readonly name: string | undefined; readonly policy: unknown } & Condition,
    checkPolicy: (merged: unknown) => Policy,
  ): Promise<Application> {
    const name = patch.name === undefined ? {} : { name: patch.name }
    const condition = patch.ifTag === undefined ? {} : { ifTag: patch.ifTag }
    for (let attempt = 1; ; attempt++) {
      const { policy: policyBefore } = await this.application(applicationId)
      const policy =
        patch.policy === undefined ? {} : { policy: checkPolicy(mergePatch(policyBefore, patch.policy)), policyBefore }
      try {
        await this.commit(actor, [{ kind: 'application.update', applicationId, ...name, ...policy, ...condition }])
        return await this.application(applicationId)
      } catch (error) {
        const raced = error instanceof TidemarkError && error.code === 'conflict'
        if (!raced || attempt === patchAttemptsMax) throw error
      }
    }
  }

  /** Deletes its keys too. `force` deletes it even if it is in use. */
  async deleteApplication(actor: string, applicationId: string, force: boolean): Promise<void> {
    await this.commit(actor, [{ kind: 'application.delete', applicationId, force }])
  }

  /** Deletes a dataset without documents or references. */
  async deleteDataset(actor: string, datasetId: string): Promise<void> {
    await this.commit(actor, [{ kind: 'dataset.delete', datasetId }])
  }

  async deleteCollector(actor: string, collectorId: string, force: boolean): Promise<void> {
    await this.commit(actor, [{ kind: 'collector.delete', collectorId, force }])
  }

  async createKey(
    actor: string,
    applicationId: string,
    input: { name: string | null; expiresAt: number | null },
    claim: Claim | null = null,
  ): Promise<ShownKey> {
    const { key, secret } = newKey('consumer', applicationId, input)
    await this.commit(actor, [{ kind: 'key.create', ...key }], claimFor(claim, key.keyId))
    return { keyId: key.keyId, secret, expiresAt: key.expiresAt }
  }

  /** Keys of applications and collectors. */
  async keys(of: { ownerId?: string }): Promise<readonly Key[]> {
    return (await this.#store.keys(of)).filter((key) => !isToken(key))
  }

  async revokeKey(actor: string, keyId: string): Promise<Key> {
    await this.key(keyId)
    await this.commit(actor, [{ kind: 'key.revoke', keyId }])
    return this.key(keyId)
  }

  /** Creates a new key with the same owner and name; the old one stays valid for the grace period. */
  async rotateKey(
    actor: string,
    keyId: string,
    graceSeconds: number,
    claim: Claim | null = null,
  ): Promise<ShownKey & { oldExpiresAt: number }> {
    const old = await this.key(keyId)
    const lifetimeMs = old.expiresAt === null ? null : Math.max(dayMs, old.expiresAt - old.createdAt)
    const expiresAt = lifetimeMs === null ? null : Date.now() + lifetimeMs
    const { name, rights } = old
    const { key: replacement, secret } = newKey(knownKind(old), old.owner.id, { name, rights, expiresAt })
    const oldExpiresAt = Date.now() + graceSeconds * 1000
    const change = { kind: 'key.rotate', keyId, oldExpiresAt, replacement } as const
    await this.commit(actor, [change], claimFor(claim, replacement.keyId))
    const after = await this.key(keyId)
    return { keyId: replacement.keyId, secret, expiresAt, oldExpiresAt: after.expiresAt ?? oldExpiresAt }
  }

  async createCollector(
    actor: string,
    input: { name: string; datasets: readonly string[] | null },
    claim: Claim | null = null,
  ): Promise<{ collectorId: string } & ShownKey> {
    const collectorId = newId('col')
    const { key, secret } = newKey('collector', collectorId, { name: input.name, expiresAt: null })
    const changes = [
      { kind: 'collector.create', collectorId, ...input },
      { kind: 'key.create', ...key },
    ] as const
    await this.commit(actor, changes, claimFor(claim, collectorId))
    return { collectorId, keyId: key.keyId, secret, expiresAt: null }
  }

  async collector(collectorId: string): Promise<Collector> {
    const collector = (await this.#store.collectors()).find((one) => one.collectorId === collectorId)
    if (collector === undefined) throw new TidemarkError('not_found', `there is no collector ${quoted(collectorId)}`)
    return collector
  }

  async createToken(
    actor: string,
    input: { name: string; role: Role; expiresAt: number | null },
    claim: Claim | null = null,
  ): Promise<ShownKey> {
    const { key, secret } = newToken(input)
    await this.commit(actor, [{ kind: 'key.create', ...key }], claimFor(claim, key.keyId))
    return { keyId: key.keyId, secret, expiresAt: key.expiresAt }
  }

  async tokens(): Promise<readonly Key[]> {
    return (await this.#store.keys({})).filter(isToken)
  }

  async token(tokenId: string): Promise<Key> {
    const token = await this.#store.key(tokenId)
    if (token === null || !isToken(token)) {
      throw new TidemarkError('not_found', `there is no admin token ${quoted(tokenId)}`)
    }
    return token
  }

  async revokeToken(actor: string, tokenId: string): Promise<Key> {
    await this.token(tokenId)
    await this.commit(actor, [{ kind: 'key.revoke', keyId: tokenId }])
    return this.token(tokenId)
  }

  /** Excludes admin tokens: otherwise a role that may rotate keys could become owner. */
  async key(keyId: string): Promise<Key> {
    const key = await this.#store.key(keyId)
    if (key === null || isToken(key)) {
      throw new TidemarkError('not_found', `there is no key with the ID ${quoted(keyId)}: tidemark key list shows all`)
    }
    return key
  }
}

/** A key with its secret, which is stored nowhere else. */
export function newKey(
  kind: CredentialKind,
  ownerId: string,
  input: Pick<NewKey, 'name' | 'expiresAt'> & Partial<Pick<NewKey, 'rights'>>,
): { readonly key: NewKey; readonly secret: string } {
  const { secret, ...made } = makeKey(kind)
  return { key: { keyId: newId('key'), owner: { kind, id: ownerId }, rights: null, ...made, ...input }, secret }
}

/** An admin token, which has no owner and holds its own rights. */
export function newToken({ name, role, expiresAt }: { name: string; role: Role; expiresAt: number | null }): {
  readonly key: NewKey
  readonly secret: string
} {
  const { secret, ...made } = makeKey('admin')
  const keyId = newId('tok')
  const owner = { kind: 'admin', id: keyId } as const
  return { key: { keyId, owner, rights: { role }, name: name.trim(), expiresAt, ...made }, secret }
}

export const isToken = ({ owner }: Pick<Key, 'owner'>): boolean => owner.kind === ('admin' satisfies CredentialKind)

function knownKind({ keyId, owner: { kind } }: Key): CredentialKind {
  if (Object.hasOwn(credentialKinds, kind)) return kind as CredentialKind
  throw new TidemarkError(
    'conflict',
    `key ${keyId} was created by a newer version of Tidemark: rotate it with that version`,
  )
}
