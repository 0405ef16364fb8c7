import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { casesOf } from '../../test/support/cases.ts'
import { plainColumns } from '../../test/support/plain-columns.ts'
import type { IndexBatch, IndexHealth, SearchIndex } from '../indexing/fed-index.ts'
import { IndexLag } from '../indexing/index-lag.ts'
import type { IndexSource, SourceDocument } from '../indexing/index-source.ts'
import { preparePortion } from '../indexing/prepare-portion.ts'
import { changesOf } from '../indexing/read-packed.ts'
import { UnavailableError } from '../platform/errors.ts'
import { untraced } from '../platform/tracing.ts'
import { IndexFeeder } from './index-feeder.ts'

const quiet = { info() {}, warn() {}, error() {} }

/** Operations that can be made to fail. */
const failures = ['elected', 'health', 'position', 'clear', 'apply', 'preparedAfter', 'newestRevision'] as const
type Failure = (typeof failures)[number]

/** A process that searches the index. */
interface Process {
  readonly name: string
  readonly feeder: IndexFeeder
  readonly abort: AbortController
  /** The documents that the index had when this process last reported it as complete; at first, all at its start. */
  promised: ReadonlySet<string>
  isStopped: boolean
}

/** A store and an index in memory, and processes that search the index; one of them is the leader. */
class World {
  readonly fedBy: 'each' | 'one'
  readonly processes: Process[] = []
  documents: SourceDocument[] = []
  #newest = 0
  /** The elected process, and the one that takes a step now. */
  leader: string | null = 'a'
  #acting: Process | null = null
  /** The operation that fails in the next step. */
  failing: Failure | null = null
  held = new Set<string>()
  position = 0
  changes = 0

  constructor(fedBy: 'each' | 'one') {
    this.fedBy = fedBy
    for (const name of fedBy === 'each' ? ['a'] : ['a', 'b']) this.processes.push(this.#start(name))
  }

  add(count: number): void {
    for (let i = 0; i < count; i++) {
      const revision = ++this.#newest
      const version = {
        versionId: `ver_${revision}`,
        current: true,
        language: 'en',
        title: 't',
        body: 'b',
        vectors: [],
      }
      this.documents.push({ documentId: `doc_${revision}`, revision, columns: plainColumns, versions: [version] })
    }
  }

  /**
   * Removes the last documents from the store, as restoring a backup does; later ones get numbers above the lost ones.
   */
  rollBack(count: number): void {
    this.documents = this.documents.slice(0, Math.max(0, this.documents.length - count))
  }

  /** Serves another index, which lacks the last documents. */
  async exchange(count: number): Promise<void> {
    const served = this.documents.slice(0, Math.max(0, this.documents.length - count))
    this.#index.isSound = true
    this.held = new Set(served.map(({ documentId }) => documentId))
    this.position = served.at(-1)?.revision ?? 0
    for (const { feeder } of this.processes) await feeder.exchange(async () => {})
  }

  damage(): void {
    this.#index.isSound = false
    this.held.clear()
    this.position = 0
  }

  async stop(process: Process): Promise<void> {
    process.abort.abort()
    await process.feeder.stop()
    process.isStopped = true
  }

  restart(name: string): void {
    const i = this.processes.findIndex((one) => one.name === name)
    this.processes[i] = this.#start(name)
  }

  /** Makes one step of a process and checks the invariants. Returns whether there may be more. */
  async step(process: Process): Promise<boolean> {
    this.#acting = process
    const before = this.changes
    let hasFailed = false
    const hasMore = await process.feeder.step().catch((error: unknown) => {
      if (!(error instanceof UnavailableError)) throw error
      hasFailed = true
      return false
    })
    this.failing = null
    const { feeder, isStopped } = process
    if (isStopped) assert.deepEqual([hasMore, feeder.isFeeding, this.changes], [false, false, before])
    else if (!hasFailed) {
      assert.equal(feeder.isFeeding, this.#isLeader(process))
      assert.equal(feeder.trouble, null)
      this.#checkPromise(process)
    }
    return hasMore
  }

  /** Steps until there is nothing more to do. */
  async settle(process: Process): Promise<void> {
    let steps = 0
    while (await this.step(process)) assert.ok(++steps < 1000, 'it never ends')
  }

  get #newestRevision(): number {
    return this.documents.at(-1)?.revision ?? 0
  }

  #isLeader({ name }: Process): boolean {
    return this.fedBy === 'each' || this.leader === name
  }

  /**
   * A process that reports a complete index has all documents that existed at its last such report, or at its start.
   */
  #checkPromise(process: Process): void {
    if (process.feeder.isRefilling) return
    for (const { documentId } of this.documents) {
      if (!process.promised.has(documentId)) continue
      assert.ok(this.held.has(documentId), `${process.name} reports a complete index, but ${documentId} is missing`)
    }
    process.promised = new Set(this.held)
  }

  /** Only a leader may change the index. */
  #changedByLeader(): void {
    assert.ok(this.#acting !== null && this.#isLeader(this.#acting), 'only the leader changes the index')
    this.changes++
  }

  #fail(operation: Failure): void {
    if (this.failing !== operation) return
    this.failing = null
    throw new UnavailableError(`${operation} fails`)
  }

  readonly #source = {
    newestRevision: async () => {
      this.#fail('newestRevision')
      return this.#newestRevision
    },
    preparedAfter: async (revision: number, ...rest) => {
      this.#fail('preparedAfter')
      assert.ok(revision <= this.position, 'documents would be left out')
      const documentsAfter = async (after: number) => this.documents.filter((one) => one.revision > after).slice(0, 2)
      return preparePortion({ documentsAfter }, revision, ...rest)
    },
    putChunks: async () => {},
  } satisfies Partial<IndexSource> as unknown as IndexSource

  readonly #index = {
    isSound: true,
    position: async () => {
      this.#fail('position')
      return this.position
    },
    health: async () => {
      this.#fail('health')
      return {
        state: this.#index.isSound ? 'ready' : 'needs_rebuild',
        reason: 'damaged',
        position: this.position,
      } as IndexHealth
    },
    clear: async () => {
      this.#fail('clear')
      this.#changedByLeader()
      assert.ok(
        this.#acting!.feeder.isRefilling || this.documents.length === 0,
        'it is emptied without being reported as incomplete',
      )
      this.held.clear()
      this.position = 0
      this.#index.isSound = true
    },
    apply: async ({ position, changes }: IndexBatch) => {
      this.#fail('apply')
      this.#changedByLeader()
      for (const change of changesOf(changes)) if (change.kind === 'put_version') this.held.add(change.documentId)
      this.position = position!
      return { outcome: 'applied' as const }
    },
  }

  #start(name: string): Process {
    const abort = new AbortController()
    const feeder = new IndexFeeder({
      source: this.#source,
      index: this.#index as unknown as SearchIndex,
      fedBy: this.fedBy,
      history: undefined,
      elected: async () => {
        this.#fail('elected')
        return this.leader === name
      },
      lag: new IndexLag(() => 0),
      reopening: () => {},
      fed: () => {},
      aborted: abort.signal,
      logger: quiet,
      tracer: untraced,
    })
    const promised = new Set(this.documents.map(({ documentId }) => documentId))
    return { name, feeder, abort, promised, isStopped: false }
  }
}

type Nothing = Record<string, never>

/** A command that can always run. */
const command = (name: string, run: (world: World) => Promise<unknown>): fc.AsyncCommand<Nothing, World> => ({
  check: () => true,
  run: async (_, world) => void (await run(world)),
  toString: () => name,
})

const processName = fc.constantFrom('a', 'b')
const few = fc.nat({ max: 5 })
const named = (world: World, name: string): Process =>
  world.processes.find((one) => one.name === name) ?? world.processes[0]!

const commands = fc.commands(
  [
    few.map((count) => command(`add ${count}`, async (world) => world.add(count))),
    processName.map((name) => command(`step ${name}`, (world) => world.step(named(world, name)))),
    processName.map((name) => command(`settle ${name}`, (world) => world.settle(named(world, name)))),
    fc.constantFrom('a', 'b', null).map((name) =>
      command(`elect ${name}`, async (world) => {
        world.leader = name
      }),
    ),
    fc.constant(command('damage', async (world) => world.damage())),
    few.map((count) => command(`exchange, without ${count}`, (world) => world.exchange(count))),
    few.map((count) =>
      command(`roll back ${count}`, async (world) => {
        world.rollBack(count)
        for (const { feeder } of world.processes) await feeder.outdate('the store was put back')
      }),
    ),
    fc.constantFrom(...failures).map((failure) =>
      command(`fail ${failure}`, async (world) => {
        world.failing = failure
      }),
    ),
    processName.map((name) => command(`stop ${name}`, (world) => world.stop(named(world, name)))),
    processName.map((name) => command(`restart ${name}`, async (world) => world.restart(named(world, name).name))),
  ],
  { maxCommands: 60, size: 'max' },
)

test('whatever happens, only a leader feeds, no process reports a complete index while it is not, and in the end it is', async () => {
  await fc.assert(
    fc.asyncProperty(fc.constantFrom('each' as const, 'one' as const), commands, async (fedBy, cmds) => {
      const world = new World(fedBy)
      await fc.asyncModelRun(() => ({ model: {}, real: world }), cmds)
      // In the end the leader indexes everything.
      world.failing = null
      world.leader = 'a'
      world.restart('a')
      for (const process of world.processes) await world.settle(process)
      const ids = world.documents.map(({ documentId }) => documentId)
      assert.ok(
        ids.every((id) => world.held.has(id)),
        'the index has every document',
      )
      for (const process of world.processes) if (!process.isStopped) assert.equal(process.feeder.isRefilling, false)
      for (const process of world.processes) await world.stop(process)
      for (const process of world.processes) await world.step(process)
    }),
    { numRuns: casesOf(1000, 200) },
  )
})

test('a new leader that finds the index behind its earlier position reports it, even if the previous leader did not', async () => {
  const world = new World('one')
  world.add(6)
  const [a, b] = world.processes as [Process, Process]
  await world.settle(a)
  await world.step(b)
  assert.equal(b.feeder.isRefilling, false)
  await world.exchange(4)
  world.leader = 'b'
  await world.step(b)
  assert.equal(b.feeder.isRefilling, true)
  await world.settle(b)
  assert.equal(b.feeder.isRefilling, false)
})
