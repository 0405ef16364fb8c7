import type { Store } from './sql-store.ts'

const readsById = { byId: true, statements: 'one' } as const

/**
 * Declares every call of the store: whether it reads or writes, which locks a write takes, and which notification it
 * sends to other processes. The type check fails for a call that is missing or has another name in its port, so a
 * renamed call cannot lose its lock.
 *
 * SQLite has one writer thread instead of locks, and does not send these notifications.
 */
export const storeCalls = {
  access: {
    findKey: 'reads',
    findClaim: 'reads',
    takeQuota: { locks: ['access'] },
    // Requests wait for this call, so it waits neither for other writers of its port nor for the disk.
    takeTokens: { locks: ['tokens'], mayBeLost: true },
    recordUse: { locks: ['access'] },
    usageOf: 'reads',
    signingKeys: 'reads',
    addSigningKey: { locks: ['access'] },
    removeSigningKeysBefore: { locks: ['access'] },
  },
  operator: {
    // A new default profile also changes which chunks wait for vectors.
    commit: { locks: ['operator', 'indexSource'], announces: 'operator' },
    datasets: 'reads',
    classifications: 'reads',
    embeddingProfiles: 'reads',
    applications: 'reads',
    application: 'reads',
    keys: 'reads',
    key: 'reads',
    collectors: 'reads',
    usage: 'reads',
    audit: 'reads',
    recordedBackups: 'reads',
  },
  content: {
    ingest: { locks: ['content'], announces: 'content' },
    knownDatasets: 'reads',
  },
  changes: {
    read: 'reads',
    state: 'reads',
    knows: 'reads',
    removeBefore: { locks: ['changes'] },
  },
  catalog: {
    documents: 'reads',
    bodies: 'reads',
    version: 'reads',
    versionCount: 'reads',
    versions: 'reads',
    snapshots: 'reads',
    browse: 'reads',
    ingestTimes: 'reads',
    classifications: 'reads',
  },
  indexSource: {
    instance: 'reads',
    documentsAfter: 'reads',
    preparedAfter: 'reads',
    newestRevision: 'reads',
    newestErasure: 'reads',
    reportPurged: { locks: ['indexSource'] },
    reportRemoved: { locks: ['indexSource'] },
    putChunks: { locks: ['indexSource'] },
    activeProfiles: 'reads',
    awaitVectors: { locks: ['indexSource'] },
    waitingChunks: 'reads',
    stillWaiting: 'reads',
    putVectors: { locks: ['indexSource'] },
    vectors: 'reads',
    doneWaiting: { locks: ['indexSource'] },
    refuseVectors: { locks: ['indexSource'] },
    vectorGaps: 'reads',
    backlog: 'reads',
    chunkCount: 'reads',
    results: readsById,
    indexedColumns: readsById,
    chunkTexts: readsById,
    versionHeads: readsById,
    shownChunks: readsById,
  },
  searchTexts: {
    present: readsById,
    rank: { ...readsById, statements: 'several' },
    count: { ...readsById, statements: 'several' },
  },
  live: {
    create: { locks: ['live'] },
    cancel: { locks: ['live'] },
    find: 'reads',
    tasks: 'reads',
    items: 'reads',
    bodies: 'reads',
    lease: { locks: ['live'] },
    task: 'reads',
    openTasks: 'reads',
    heartbeat: { locks: ['live'] },
    // Also writes documents.
    deliver: { locks: ['live', 'content'], announces: 'content' },
    complete: { locks: ['live'] },
    dueAt: 'reads',
    settle: { locks: ['live'] },
    forget: { locks: ['live'] },
  },
  analysis: {
    addRun: { locks: ['analysis'], announces: 'analysis' },
    run: 'reads',
    runs: 'reads',
    runQueue: 'reads',
    unfinishedRuns: 'reads',
    cancelRun: { locks: ['analysis'], announces: 'analysis' },
    artifacts: 'reads',
    takeRun: { locks: ['analysis'] },
    renew: { locks: ['analysis'] },
    beginRun: { locks: ['analysis'] },
    endRun: { locks: ['analysis'] },
    releaseRun: { locks: ['analysis'] },
    expireRuns: { locks: ['analysis'] },
    removeRuns: { locks: ['analysis'] },
    knownArtifacts: 'reads',
    application: 'reads',
    profile: 'reads',
    activeProfileIds: 'reads',
    inputRows: 'reads',
    chunkVectors: 'reads',
    inputTexts: 'reads',
    inputDocuments: 'reads',
    addSubscription: { locks: ['analysis'] },
    subscription: 'reads',
    subscriptions: 'reads',
    setPaused: { locks: ['analysis'] },
    startRun: { locks: ['analysis'], announces: 'analysis' },
    waitingSubscriptions: 'reads',
    changesWithin: 'reads',
    keepFollowed: { locks: ['analysis'] },
    endedRuns: 'reads',
    knowsRun: 'reads',
  },
  exportSource: {
    portion: 'reads',
  },
  erasures: {
    count: 'reads',
    // Writes documents and events, as ingest does, and ends analysis runs. Announced as `operator`, because processes
    // cache with each key what it may read.
    begin: { locks: ['operator', 'content', 'analysis', 'erasures'], announces: 'operator' },
    hide: { locks: ['operator', 'content', 'analysis', 'erasures'], announces: 'content' },
    announceArrivals: { locks: ['content', 'erasures'], announces: 'content' },
    // A call that stores chunks or vectors holds the same lock while it checks that their document still exists.
    remove: { locks: ['indexSource', 'erasures'] },
    // Retention removes events under the same lock.
    forgetEvents: { locks: ['changes', 'erasures'] },
    isPurged: 'reads',
    overdue: 'reads',
    complete: { locks: ['erasures'] },
    unfinished: 'reads',
    erasure: 'reads',
    erasures: 'reads',
    // Ingest holds the same lock while it checks whether a document is erased.
    lift: { locks: ['content', 'erasures'] },
    tombstones: 'reads',
    liftAll: { locks: ['content', 'erasures'] },
    hiddenAmong: 'reads',
    removal: 'reads',
    // Like `begin` and `hide`.
    eraseAgain: { locks: ['operator', 'content', 'analysis', 'erasures'], announces: 'content' },
    takeOver: { locks: ['operator', 'content', 'analysis', 'erasures'], announces: 'content' },
  },
  history: {
    mark: 'reads',
    lacks: 'reads',
    // No position may be assigned meanwhile.
    startNewHistory: { locks: ['operator', 'content', 'analysis', 'erasures', 'history'] },
    lastLoss: 'reads',
  },
  clock: {
    trustedUntil: 'reads',
    newestTime: 'reads',
    trust: { locks: ['clock'] },
    confirm: { locks: ['operator', 'clock'] },
  },
} as const satisfies StoreCalls

export type StoreCalls = {
  readonly [Port in keyof Store]: { readonly [Method in keyof Store[Port]]: StoreCall }
}

/**
 * A reading call has one snapshot and cannot write, so a write that is declared as a read fails.
 */
export type StoreCall = 'reads' | ReadsById | Write

/**
 * A call that only reads rows by their ids, so that one query plan fits all ids. A call with one statement needs no
 * transaction, because one statement has one snapshot.
 */
export interface ReadsById {
  readonly byId: true
  readonly statements: 'one' | 'several'
}

export interface Write {
  /**
   * Taken first, in this order, and held to the end of the transaction. Across all processes, one writer at a time
   * holds a lock.
   */
  readonly locks: readonly [WriteLock, ...WriteLock[]]
  /** The notification that other processes get at once. They find all other changes by polling. */
  readonly announces?: Announcement
  /** A crash may lose this write without harm, so the commit does not wait for the disk. */
  readonly mayBeLost?: true
}

export type WriteLock = keyof Store | 'tokens'

export const announcements = ['content', 'operator', 'analysis'] as const
export type Announcement = (typeof announcements)[number]

/** One call by its name, with its declaration. */
export interface NamedCall {
  readonly port: keyof Store
  readonly method: string
  readonly write: Write | null
  readonly byId: ReadsById | null
}

/** The key of a call in maps. */
export const nameOf = ({ port, method }: { port: string; method: string }): string => `${port}.${method}`

export const namedCalls: readonly NamedCall[] = Object.entries(storeCalls as StoreCalls).flatMap(([port, methods]) =>
  Object.entries<StoreCall>(methods).map(([method, call]) => ({
    port: port as keyof Store,
    method,
    write: typeof call === 'object' && 'locks' in call ? call : null,
    byId: typeof call === 'object' && 'byId' in call ? call : null,
  })),
)
