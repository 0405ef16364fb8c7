import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { casesOf } from '../../test/support/cases.ts'
import { type ExportLine, pageMax, RefusedByServer } from './consumer-client.ts'
import { canonicalJson, type DocumentAnswer } from './copied-document.ts'
import type { CopiedDocument, Copy, CopyPosition, SavedStep } from './copy.ts'
import { keepCopy, type Mirror } from './keep-copy.ts'

/** Stands for a failure of the connection or the machine. */
class Interrupted extends Error {}

const idOf = (n: number): string => `doc_${String(n).padStart(5, '0')}`

/** A server and a copy of it. Its application may read all documents, or those with an even number. */
class World {
  readonly documents = new Map<string, number>()
  readonly feed: string[] = []
  #created = 0
  /** The start of the feed, and the history that its cursors belong to. */
  oldest = 0
  history = 0
  entitledTo: 'all' | 'even' = 'all'
  /** Calls until the mirror is interrupted; null for never. */
  callsLeft: number | null = null
  /** Changes of the server. One happens before each of the next calls of the mirror. */
  #meanwhile: (() => void)[] = []
  readonly copied = new Map<string, CopiedDocument>()
  position: CopyPosition | null = null

  put(count: number): void {
    for (let i = 0; i < count; i++) this.#write(idOf(++this.#created), 1)
  }

  change(which: number): void {
    const ids = [...this.documents.keys()]
    const id = ids[which % ids.length]
    if (id !== undefined) this.#write(id, this.documents.get(id)! + 1)
  }

  erase(which: number): void {
    const ids = [...this.documents.keys()]
    const id = ids[which % ids.length]
    if (id === undefined) return
    this.documents.delete(id)
    this.feed.push(id)
  }

  meanwhile(change: () => void): void {
    this.#meanwhile.push(change)
  }

  get readable(): Map<string, number> {
    return new Map([...this.documents].filter(([id]) => this.entitledTo === 'all' || /[02468]$/.test(id)))
  }

  #write(id: string, version: number): void {
    this.documents.set(id, version)
    this.feed.push(id)
  }

  #called(): void {
    this.#meanwhile.shift()?.()
    if (this.callsLeft !== null && this.callsLeft-- <= 0) throw new Interrupted()
  }

  #answer(id: string): DocumentAnswer & { content: { version_id: string; body: string } } {
    return { id, content: { version_id: `${this.documents.get(id)}`, body: `version ${this.documents.get(id)}` } }
  }

  #positionOf(cursor: string): number {
    const [history, sequence] = cursor.split(' ').map(Number)
    if (history !== this.history) throw new RefusedByServer(400, 'invalid_cursor', 'not issued by this service', null)
    if (sequence! < this.oldest) throw new RefusedByServer(410, 'cursor_expired', 'too old', null)
    return sequence!
  }

  readonly client: Mirror['client'] = {
    account: async () => {
      this.#called()
      return { application_id: 'app', entitlements: [{ datasets: [this.entitledTo] }] }
    },
    changes: async (cursor) => {
      this.#called()
      const from = this.#positionOf(cursor)
      const ids = this.feed.slice(from, from + pageMax)
      const items = ids.map((id) => ({ document_id: id, ingested_at: '2026-01-01T00:00:00Z' }))
      return { items, next_cursor: `${this.history} ${from + ids.length}` }
    },
    documents: async (ids) => {
      this.#called()
      const { readable } = this
      const found = ids.filter((id) => readable.has(id))
      return { documents: found.map((id) => this.#answer(id)), missing: ids.filter((id) => !readable.has(id)) }
    },
    documentCount: async () => null,
    export: (from) => this.#export(from),
  }

  async *#export(from: string | null): AsyncGenerator<ExportLine> {
    this.#called()
    const [feedCursor, after = ''] = from === null ? [`${this.history} ${this.feed.length}`] : from.split('/')
    this.#positionOf(feedCursor!)
    yield { type: 'start', changes_cursor: feedCursor! }
    for (let last = after; ; ) {
      const ids = [...this.readable.keys()].filter((id) => id > last).sort()
      const portion = ids.slice(0, Math.max(3, ids.length / 4))
      for (const id of portion) {
        const { content, ...document } = this.#answer(id)
        yield { type: 'document', document, content }
      }
      if (portion.length === ids.length) break
      last = portion.at(-1)!
      this.#called()
      yield { type: 'checkpoint', cursor: `${feedCursor}/${last}` }
    }
    yield { type: 'end', documents: this.documents.size, changes_cursor: feedCursor! }
  }

  readonly copy: Copy = {
    changesAtOnce: pageMax + 50,
    position: async () => this.position,
    save: async (step) => {
      this.#called()
      this.#save(step)
    },
    after: async () => [],
    read: async () => [],
    close: async () => {},
  }

  #save({ documents, gone, covers, position }: SavedStep): void {
    if (covers !== undefined) {
      const { after, through } = covers
      for (const id of this.copied.keys()) if (id > after && (through === null || id <= through)) this.copied.delete(id)
    }
    for (const one of documents) this.copied.set(one.id, one)
    for (const id of gone) this.copied.delete(id)
    this.position = position
  }

  /** Updates the copy, unless interrupted. Returns whether it was completed. */
  async run(): Promise<boolean> {
    try {
      await keepCopy({ client: this.client, copy: this.copy, report: () => {} }, true)
      return true
    } catch (error) {
      if (!(error instanceof Interrupted)) throw error
      return false
    } finally {
      this.callsLeft = null
    }
  }

  /** Asserts that the copy equals the readable documents, and that the next run continues at the end of the feed. */
  checkInStep(): void {
    const copied = [...this.copied.values()].map(({ id, version_id }) => [id, Number(version_id)])
    assert.deepEqual(new Map(copied as [string, number][]), this.readable)
    assert.equal(this.position?.changesCursor, `${this.history} ${this.feed.length}`)
  }
}

type Nothing = Record<string, never>
const command = (name: string, run: (world: World) => unknown): fc.AsyncCommand<Nothing, World> => ({
  check: () => true,
  run: async (_, world) => void (await run(world)),
  toString: () => name,
})

interface ServerChange {
  readonly name: string
  readonly apply: (world: World) => void
}

const serverChanges: fc.Arbitrary<ServerChange> = fc.oneof(
  fc.nat({ max: 9 }).map((n) => ({ name: `put ${n}`, apply: (world: World) => world.put(n) })),
  fc.nat().map((n) => ({ name: `change ${n}`, apply: (world: World) => world.change(n) })),
  fc.nat().map((n) => ({ name: `erase ${n}`, apply: (world: World) => world.erase(n) })),
)

const commands = fc.commands(
  [
    serverChanges.map(({ name, apply }) => command(name, apply)),
    fc.constant(command('put more than a page', (world) => world.put(pageMax + 30))),
    fc.constantFrom('all' as const, 'even' as const).map((to) =>
      command(`entitle to ${to}`, (world) => {
        world.entitledTo = to
      }),
    ),
    fc.constant(
      command('the feed expires', (world) => {
        world.oldest = world.feed.length
      }),
    ),
    fc.constant(
      command('another server answers', (world) => {
        world.history++
      }),
    ),
    fc.array(serverChanges, { maxLength: 6 }).map((during) =>
      command(`meanwhile ${during.map(({ name }) => name)}`, (world) => {
        for (const { apply } of during) world.meanwhile(() => apply(world))
      }),
    ),
    fc.nat({ max: 12 }).map((calls) =>
      command(`run for ${calls} calls`, (world) => {
        world.callsLeft = calls
        return world.run()
      }),
    ),
    fc.constant(command('run', (world) => world.run())),
  ],
  { maxCommands: 25, size: 'max' },
)

test('whatever happens to the server, and wherever the mirror is killed, in the end the copy equals the readable documents', async () => {
  await fc.assert(
    fc.asyncProperty(commands, async (cmds) => {
      const world = new World()
      await fc.asyncModelRun(() => ({ model: {}, real: world }), cmds)
      // Planned changes happen during the first run, and none during the second.
      await world.run()
      assert.equal(await world.run(), true)
      world.checkInStep()
      // Documents that may no longer be read leave the copy, and newly readable ones enter it.
      world.entitledTo = world.entitledTo === 'all' ? 'even' : 'all'
      assert.equal(await world.run(), true)
      world.checkInStep()
    }),
    { numRuns: casesOf(300, 60) },
  )
})

test('a copy that was started by a version with fewer fields is exported again, once', async () => {
  const world = new World()
  world.put(3)
  await world.run()
  // The digest of earlier versions, which did not include the fields.
  const digest = hash('sha256', canonicalJson([canonicalJson({ datasets: ['all'] })]), 'base64url')
  world.position = { ...world.position!, entitlements: digest }
  for (const expected of [1, 0]) {
    const reported: string[] = []
    await keepCopy({ client: world.client, copy: world.copy, report: ({ about }) => reported.push(about) }, true)
    assert.equal(reported.filter((about) => about === 'restart').length, expected)
    world.checkInStep()
  }
})

test('a server that refuses every cursor is not retried forever', async () => {
  const world = new World()
  world.put(3)
  const refused = new RefusedByServer(410, 'cursor_expired', 'too old', null)
  const client: Mirror['client'] = { ...world.client, changes: () => Promise.reject(refused) }
  const reported: string[] = []
  const running = keepCopy({ client, copy: world.copy, report: ({ about }) => reported.push(about) }, true)
  await assert.rejects(running, refused)
  assert.equal(reported.filter((about) => about === 'restart').length, 1)
})
