import type { KeptClaim } from '../access/claim.ts'
import type { EntitlementInput } from '../access/entitlement.ts'
import type { Policy } from '../access/policy.ts'
import type { OwnerId } from '../access/principal.ts'
import type { BackupNote } from './backup-note.ts'

/**
 * The port: everything that operators configure. All writes go through `commit`, so that every change is written
 * together with its line in the audit log, and several changes are made together or not at all.
 */
export interface OperatorStore {
  commit(changes: readonly Change[], mark: AuditMark, claim?: KeptClaim | null): Promise<readonly ChangeOutcome[]>

  datasets(): Promise<readonly Dataset[]>
  classifications(datasetId: string | null): Promise<readonly Classification[]>
  embeddingProfiles(): Promise<readonly EmbeddingProfile[]>
  applications(): Promise<readonly Application[]>
  application(applicationId: string): Promise<Application | null>
  keys(of: { ownerId?: string }): Promise<readonly Key[]>
  key(keyId: string): Promise<Key | null>
  collectors(): Promise<readonly Collector[]>
  usage(range: { fromDay: string; toDay: string; applicationId: string | null }): Promise<readonly Usage[]>
  /** Newest first; `before` is the id of the last line already seen. */
  audit(page: { before: string | null; limit: number }): Promise<readonly AuditLine[]>
  /** Backups made by other tools, from `backup.record`. */
  recordedBackups(): Promise<BackupNote>
}

/** Who makes a change, and when. */
export interface AuditMark {
  readonly actor: string
  readonly at: number
}

/**
 * The tag of the record (`record-tag.ts`) that a change is based on. If the record has another tag, the change is
 * refused.
 */
export interface Condition {
  readonly ifTag?: string
}

export type Change =
  | ({
      kind: 'dataset.put'
      datasetId: string
      name: string
      description: string | null
      /** Absent keeps the current value; null keeps documents forever. */
      retainDays?: number | null
    } & Condition)
  /** A conflict (`in_use`) while it has documents or references: documents are removed by an erasure. */
  | { kind: 'dataset.delete'; datasetId: string }
  | ({
      kind: 'classification.put'
      datasetId: string
      code: string
      name: string
      description: string | null
      labelSchema: Readonly<Record<string, unknown>>
      active: boolean
    } & Condition)
  | ({
      kind: 'profile.put'
      profileId: string
      provider: string
      model: string
      dimensions: number | null
      status: ProfileStatus
      /** true replaces the current default profile; absent changes nothing. */
      isDefault?: boolean
    } & Condition)
  | {
      /** Sets the profiles that get vectors besides the default one, each for texts in its languages. */
      kind: 'profiles.make'
      profiles: readonly { readonly profileId: string; readonly languages: readonly string[] | null }[]
    }
  /** A backup by another tool succeeded or failed. */
  | { kind: 'backup.record'; outcome: 'made' | 'failed' }
  | { kind: 'application.create'; applicationId: string; name: string; policy: Policy }
  | ({
      kind: 'application.update'
      applicationId: string
      name?: string
      policy?: Policy
      /** The policy that `policy` is based on. If the record has another one by now, the change is a conflict. */
      policyBefore?: Policy
    } & Condition)
  /** A conflict (`in_use`) while it has valid keys, unfinished runs or subscriptions, unless forced. */
  | { kind: 'application.delete'; applicationId: string; force: boolean }
  | ({ kind: 'entitlements.put'; applicationId: string; entitlements: readonly EntitlementInput[] } & Condition)
  | { kind: 'collector.create'; collectorId: string; name: string; datasets: readonly string[] | null }
  /** A conflict (`in_use`) while it holds tasks, unless forced. */
  | { kind: 'collector.delete'; collectorId: string; force: boolean }
  | ({ kind: 'key.create' } & NewKey)
  /** `revokedAt` is set to repeat a revocation that the store has lost. */
  | { kind: 'key.revoke'; keyId: string; revokedAt?: number }
  /** The old key stays valid until `oldExpiresAt`, or its own earlier expiry. */
  | { kind: 'key.rotate'; keyId: string; oldExpiresAt: number; replacement: NewKey }
  /** The key expires at that time, or at its own earlier expiry. */
  | { kind: 'key.expire'; keyId: string; expiresAt: number }
  /** Only for the audit log: the token is not in the store. */
  | { kind: 'admin_token.replace' }
  /** Only for the audit log: the first line of a restored instance. */
  | { kind: 'instance.restore'; backupMadeAt: string; compared: boolean; revived: readonly string[] }

/** The secret itself never reaches the store: only its hash and the part shown in lists. */
export interface NewKey {
  readonly keyId: string
  readonly owner: OwnerId
  /** The rights of a key whose owner does not define them; null for other kinds. */
  readonly rights: Readonly<Record<string, unknown>> | null
  readonly name: string | null
  readonly prefix: string
  readonly hash: string
  readonly expiresAt: number | null
}

export type ChangeOutcome = 'created' | 'updated' | 'unchanged'

export type ProfileStatus = 'active' | 'inactive'

export interface Dataset {
  readonly datasetId: string
  readonly name: string
  readonly description: string | null
  /** Documents are erased this many days after they arrived; null keeps them forever. */
  readonly retainDays: number | null
  readonly createdAt: number
  readonly updatedAt: number
}

export interface Classification {
  readonly datasetId: string
  readonly code: string
  readonly name: string
  readonly description: string | null
  readonly labelSchema: Readonly<Record<string, unknown>>
  readonly active: boolean
}

export interface EmbeddingProfile {
  readonly profileId: string
  readonly provider: string
  readonly model: string
  readonly dimensions: number | null
  readonly status: ProfileStatus
  readonly isDefault: boolean
}

export interface Application {
  readonly applicationId: string
  readonly name: string
  readonly policy: Policy
  readonly entitlements: readonly (EntitlementInput & { entitlement_id: string })[]
  readonly createdAt: number
  readonly updatedAt: number
}

export interface Key {
  readonly keyId: string
  readonly owner: OwnerId
  readonly rights: Readonly<Record<string, unknown>> | null
  readonly name: string | null
  readonly prefix: string
  readonly createdAt: number
  readonly expiresAt: number | null
  readonly revokedAt: number | null
  readonly lastUsedAt: number | null
}

export interface Collector {
  readonly collectorId: string
  readonly name: string
  readonly datasets: readonly string[] | null
  readonly createdAt: number
}

export interface Usage {
  readonly applicationId: string
  readonly day: string
  readonly operation: string
  readonly used: number
}

export interface AuditLine {
  readonly auditId: string
  readonly at: number
  readonly actor: string
  readonly action: string
  readonly target: string
  readonly detail: Readonly<Record<string, unknown>>
}
