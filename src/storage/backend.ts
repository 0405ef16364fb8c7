import type { Measures } from '../measures.ts'
import type { CopySource, CopyTarget } from '../operator/copy-instance.ts'
import type { Finding } from '../operator/examine.ts'
import type { BackupParts } from '../operator/make-backup.ts'
import type { RestoreParts } from '../operator/restore-backup.ts'
import type { VerifyParts } from '../operator/verify-backup.ts'
import type { PoolWatch } from '../threads/pool.ts'
import type { OpenStore } from './open-store.ts'
import type { Schema } from './sql/migrate.ts'

export interface OpenOptions {
  readonly watch?: PoolWatch
  readonly measures?: Measures
  /** A command asks one thing after the other, and need not be answered by several threads. */
  readonly callers?: 'many' | 'one'
}

/** A kind of store, with the place that the settings give it. What a technology needs is loaded when it is asked for. */
export interface Backend {
  /** As people call it. */
  readonly name: string
  /** Several processes may serve it at once. */
  readonly shared: boolean
  /** False where looking would find nothing. */
  isThere(): boolean
  /** Makes it, or brings it up to date, where that is to be done. */
  open(options?: OpenOptions): Promise<OpenStore>
  upkeep(): Promise<Upkeep>
}

/** What commands do with a store beside working with what it holds. */
export interface Upkeep {
  /** Only looks. */
  schema(): Promise<Schema>
  /** The schema that this version brings it up to. */
  readonly newestSchema: number
  /** How it is kept, for an operator; what it holds is looked at elsewhere. Only looks. */
  examine(): Promise<readonly Finding[]>
  readonly backup: BackupByTidemark | BackupByOwnTools
  /** For moving an instance from one kind of store to another; null where it cannot be moved from or to this kind. */
  readonly copySource: (() => Promise<OpenCopySource>) | null
  readonly copyTarget: ((asked: CopyTargetAsked) => Promise<OpenCopyTarget>) | null
}

export interface BackupByTidemark
  extends Pick<BackupParts, 'copyStore'>,
    Pick<RestoreParts, 'refuseInUse' | 'removeStoreLog' | 'prepareStore'> {
  readonly by: 'tidemark'
  readonly examineStore: VerifyParts['examineStore']
}

/** The commands that do it. */
export interface BackupByOwnTools {
  readonly by: 'own tools'
  readonly backup: string
  readonly restore: string
}

export interface OpenCopySource extends CopySource {
  /** Nobody else has the store, nor can have it until this is closed. */
  readonly alone: boolean
  readonly tables: readonly string[]
  /** The oldest entry of the audit log, which no other instance has; null where nothing was ever done. */
  readonly instance: string | null
  close(): void
}

export interface CopyTargetAsked extends Pick<OpenCopySource, 'tables' | 'instance'> {
  /** A target that is only compared is not touched. */
  readonly writes: boolean
}

export interface OpenCopyTarget extends CopyTarget {
  close(): Promise<void>
}
