import type { CopySource, CopyTarget } from '../operator/copy-instance.ts'
import type { Finding } from '../operator/examine.ts'
import type { BackupParts } from '../operator/make-backup.ts'
import type { RestoreParts } from '../operator/restore-backup.ts'
import type { VerifyParts } from '../operator/verify-backup.ts'
import type { Measures } from '../platform/measures.ts'
import type { PoolWatch } from '../threads/pool.ts'
import type { OpenStore } from './open-store.ts'
import type { Schema } from './sql/migrate.ts'

export interface OpenOptions {
  readonly watch?: PoolWatch
  readonly measures?: Measures
  /** A command sends one call after the other, and needs no more than one thread. */
  readonly callers?: 'many' | 'one'
  /**
   * Waits for a store on another machine that cannot be reached yet; called with the reason for each attempt. Without
   * it, opening fails.
   */
  readonly stillUnavailable?: (why: Error) => void
}

/** A kind of store, at the location in the settings. Loads the modules of its technology on demand. */
export interface Backend {
  /** The name for people. */
  readonly name: string
  /** Whether several processes may serve it at once. */
  readonly shared: boolean
  /** False if the store does not exist. True if only a connection could tell. */
  isThere(): boolean
  /** Creates the store, or brings its schema up to date, if needed. */
  open(options?: OpenOptions): Promise<OpenStore>
  maintenance(): Promise<StoreMaintenance>
}

/** Operations on a whole store, for commands. */
export interface StoreMaintenance {
  /** Changes nothing. */
  schema(): Promise<Schema>
  /** The schema to which this version migrates the store. */
  readonly newestSchema: number
  /** Checks the database or file itself, for operators. Other checks look at its contents. Changes nothing. */
  examine(): Promise<readonly Finding[]>
  readonly backup: BackupByTidemark | BackupByOwnTools
  /** For moving an instance to another kind of store; null if this kind does not support it. */
  readonly copySource: (() => Promise<OpenCopySource>) | null
  readonly copyTarget: ((request: CopyTargetRequest) => Promise<OpenCopyTarget>) | null
}

export interface BackupByTidemark
  extends Pick<BackupParts, 'copyStore'>,
    Pick<RestoreParts, 'refuseInUse' | 'removeStoreLog' | 'prepareStore'> {
  readonly by: 'tidemark'
  readonly examineStore: VerifyParts['examineStore']
}

/** The names of the database's own commands that make and restore backups. */
export interface BackupByOwnTools {
  readonly by: 'own tools'
  readonly backup: string
  readonly restore: string
}

export interface OpenCopySource extends CopySource {
  /** Whether no other process has the store open, and none can open it until this is closed. */
  readonly alone: boolean
  readonly tables: readonly string[]
  /** The oldest entry of the audit log, which is unique to the instance; null if there is none. */
  readonly instance: string | null
  close(): void
}

export interface CopyTargetRequest extends Pick<OpenCopySource, 'tables' | 'instance'> {
  /** A target that is only compared is not changed. */
  readonly writes: boolean
}

export interface OpenCopyTarget extends CopyTarget {
  close(): Promise<void>
}
