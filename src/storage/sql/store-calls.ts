import type { Store } from './sql-store.ts'

const readsById = { byId: true, statements: 'one' } as const

/**
 * What every call of the store is: whether it reads or writes, which locks a writer takes, and what it tells other
 * processes. Said here and nowhere else. A call that is missing, or is called otherwise by its port, fails the type
 * check, so none can lose its lock by a new name.
 *
 * SQLite has one writing thread instead of locks, and no other processes to tell.
 */
export const storeCalls = {
  access: {
    findKey: 'reads',
    findClaim: 'reads',
    takeQuota: { locks: ['access'] },
    // Requests wait for it: it waits neither for the port's other writers nor for the disk.
    takeTokens: { locks: ['tokens'], mayBeLost: true },
    recordUse: { locks: ['access'] },
    usageOf: 'reads',
    signingKeys: 'reads',
    addSigningKey: { locks: ['access'] },
    removeSigningKeysBefore: { locks: ['access'] },
  },
  operator: {
    // With the profile that becomes the default, what waits for its vectors changes too.
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
  },
  content: {
    ingest: { locks: ['content'], announces: 'content' },
    knownDatasets: 'reads',
  },
  changes: {
    read: 'reads',
    state: 'reads',
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
    putChunks: { locks: ['indexSource'] },
    madeProfiles: 'reads',
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
    rankLikely: { ...readsById, statements: 'apart' },
    rankAndPresent: { ...readsById, statements: 'several' },
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
    // It writes documents too.
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
  },
  exportSource: {
    portion: 'reads',
  },
  erasures: {
    count: 'reads',
    // Documents and events are written by it as by who sends them in; runs that are to go are ended by it.
    // What nobody may read any more is part of what is remembered of keys.
    begin: { locks: ['operator', 'content', 'analysis', 'erasures'], announces: 'operator' },
    hide: { locks: ['operator', 'content', 'analysis', 'erasures'], announces: 'content' },
    tellArrivals: { locks: ['content', 'erasures'], announces: 'content' },
    // Whoever keeps chunks or vectors looks under this lock whether their document is there.
    remove: { locks: ['indexSource', 'erasures'] },
    // Events that are removed meanwhile are removed under this lock.
    forgetEvents: { locks: ['changes', 'erasures'] },
    isPurged: 'reads',
    overdue: 'reads',
    complete: { locks: ['erasures'] },
    unfinished: 'reads',
    erasure: 'reads',
    erasures: 'reads',
    // Whether a document may come in is looked up under this lock.
    lift: { locks: ['content', 'erasures'] },
    tombstones: 'reads',
    liftAll: { locks: ['content', 'erasures'] },
  },
} as const satisfies StoreCalls

export type StoreCalls = {
  readonly [Port in keyof Store]: { readonly [Method in keyof Store[Port]]: StoreCall }
}

/** A call that reads has one snapshot, unless its statements stand apart, and cannot write: one that is declared so by mistake fails its first test. */
export type StoreCall = 'reads' | ReadsById | Write

/**
 * By ids alone: one plan does for any of them. What is one statement has a snapshot by itself, without a transaction, and so has
 * each of several where what one of them reads is not put together with what another does: they stand apart.
 */
export interface ReadsById {
  readonly byId: true
  readonly statements: 'one' | 'apart' | 'several'
}

export interface Write {
  /** Taken first, in this order, and held to the end of the transaction: one writer at a time, over all processes. */
  readonly locks: readonly [WriteLock, ...WriteLock[]]
  /** What other processes hear about at once. The rest they find by looking. */
  readonly announces?: Announcement
  /** What a crash takes back of it does no harm: the commit does not wait for the disk. */
  readonly mayBeLost?: true
}

export type WriteLock = keyof Store | 'tokens'

export const announcements = ['content', 'operator', 'analysis'] as const
export type Announcement = (typeof announcements)[number]

/** One call by its name, with what it is. */
export interface NamedCall {
  readonly port: keyof Store
  readonly method: string
  readonly write: Write | null
  readonly byId: ReadsById | null
}

/** For what is remembered of calls. */
export const nameOf = ({ port, method }: { port: string; method: string }): string => `${port}.${method}`

export const namedCalls: readonly NamedCall[] = Object.entries(storeCalls as StoreCalls).flatMap(([port, methods]) =>
  Object.entries<StoreCall>(methods).map(([method, call]) => ({
    port: port as keyof Store,
    method,
    write: typeof call === 'object' && 'locks' in call ? call : null,
    byId: typeof call === 'object' && 'byId' in call ? call : null,
  })),
)
