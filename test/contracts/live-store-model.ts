import assert from 'node:assert/strict'
import fc from 'fast-check'
import type { ContentStore } from '../../src/ingest/content-store.ts'
import { liveQueryAt } from '../../src/live/live-queries.ts'
import type { LeaseClaim, LiveQuery, LiveStore, NewLiveQuery } from '../../src/live/live-store.ts'
import { type RunEvent, type RunState, transitions } from '../../src/live/states.ts'
import type { OperatorStore } from '../../src/operator/operator-store.ts'
import { plain } from './content-store.ts'

export interface LiveFixture {
  readonly live: LiveStore
  readonly content: ContentStore
  readonly operator: OperatorStore
  /** Whether each call is a transaction of its own, so that calls may run at once. */
  readonly isolated: boolean
  /** The same data, opened again as after a crash; the fixture itself if it cannot be opened twice. */
  reopen(): Promise<LiveFixture>
  close(): Promise<void>
}

let keys = 0
export const request = (fields: Partial<NewLiveQuery> = {}): NewLiveQuery => ({
  applicationId: 'app',
  claim: { caller: 'app', key: `key ${keys++}`, requestHash: 'hash' },
  datasetId: 'd1',
  platforms: ['rss'],
  resourceKind: 'content',
  query: 'harbour',
  maxItems: 3,
  deadlineMs: 60_000,
  concurrentMax: null,
  perMinuteMax: null,
  ...fields,
})

/** The expected state of the store, modelled as simply as possible: a clock and the state of each run. */
interface ModelRun {
  readonly taskId: string
  readonly queryId: string
  readonly deadlineAt: number
  readonly maxItems: number
  state: RunState
  lease: { readonly leaseId: string; readonly collectorId: string; expiresAt: number } | null
  /** The call that ended it, for repeated completions. */
  endedBy: { readonly leaseId: string; readonly event: 'succeed' | 'fail' } | null
  readonly items: Set<string>
}

/** Not the platforms of other tests, whose tasks may still be open. */
export const modelPlatforms = ['model-rss', 'model-forum']

export interface LiveModel {
  nowMs: number
  readonly application: string
  readonly queries: string[]
  readonly runs: Map<string, ModelRun>
  steps: number
}

export interface LiveSystem {
  fixture: LiveFixture
}

/** A transition of the state table. Any other one is a fault of the model. */
function go(run: ModelRun, event: RunEvent): void {
  const to = transitions[run.state][event]
  assert.ok(to !== undefined, `${run.state} has no ${event}`)
  run.state = to
}

/** The transitions that only time causes. */
function pass(model: LiveModel): void {
  for (const run of model.runs.values()) {
    if (run.state !== 'pending' && run.state !== 'running') continue
    if (model.nowMs >= run.deadlineAt) go(run, 'deadline')
    else if (run.state === 'running' && model.nowMs >= run.lease!.expiresAt) {
      go(run, 'lapse')
      run.lease = null
    }
  }
}

/** Every stored run equals the model, and its state changes follow the state table. */
async function compare(model: LiveModel, { fixture }: LiveSystem): Promise<void> {
  for (const id of model.queries) {
    const shown = liveQueryAt((await fixture.live.find(model.application, id)) as LiveQuery, model.nowMs)
    for (const run of shown.runs) {
      const expected = model.runs.get(run.taskId)!
      assert.equal(run.status, expected.state)
      assert.equal(run.items, expected.items.size)
    }
    const over = shown.runs.every(({ status }) => !['pending', 'running'].includes(status))
    assert.equal(shown.completedAt !== null, over)
  }
}

abstract class Step implements fc.AsyncCommand<LiveModel, LiveSystem> {
  readonly #name: string
  constructor(name: string) {
    this.#name = name
  }
  check(): boolean {
    return true
  }
  abstract act(model: LiveModel, system: LiveSystem): Promise<void>
  async run(model: LiveModel, system: LiveSystem): Promise<void> {
    model.steps++
    await this.act(model, system)
    await compare(model, system)
  }
  toString(): string {
    return this.#name
  }
}

class Create extends Step {
  readonly #platforms: readonly string[]
  readonly #seconds: number
  constructor(platforms: readonly string[], seconds: number) {
    super(`create ${platforms} ${seconds} s`)
    this.#platforms = platforms
    this.#seconds = seconds
  }
  async act(model: LiveModel, { fixture }: LiveSystem): Promise<void> {
    const asked = { applicationId: model.application, platforms: this.#platforms, deadlineMs: this.#seconds * 1000 }
    const creation = await fixture.live.create(request(asked), model.nowMs)
    // Perhaps no collector has polled lately. Other tests cover that.
    if (creation.kind !== 'created') return
    const { liveQueryId, deadlineAt, runs } = creation.liveQuery
    model.queries.push(liveQueryId)
    for (const { taskId } of runs) {
      const born = { state: 'pending', lease: null, endedBy: null, items: new Set<string>() } as const
      model.runs.set(taskId, { taskId, queryId: liveQueryId, deadlineAt, maxItems: 3, ...born })
    }
  }
}

class Lease extends Step {
  readonly #collector: string
  readonly #max: number
  readonly #seconds: number
  constructor(collector: string, max: number, seconds: number) {
    super(`lease by ${collector}, ${max}, ${seconds} s`)
    this.#collector = collector
    this.#max = max
    this.#seconds = seconds
  }
  async act(model: LiveModel, { fixture }: LiveSystem): Promise<void> {
    const free = [...model.runs.values()].filter(({ state }) => state === 'pending')
    const leased = await fixture.live.lease(
      {
        collectorId: this.#collector,
        datasets: null,
        platforms: modelPlatforms,
        resourceKinds: null,
        max: this.#max,
        leaseMs: this.#seconds * 1000,
      },
      model.nowMs,
    )
    // Oldest first, and within one millisecond by id, because ids from before and after a restart have no other order.
    const expected = free.map(({ taskId }) => taskId).sort()
    assert.deepEqual(
      leased.map(({ taskId }) => taskId),
      expected.slice(0, this.#max),
    )
    for (const { taskId, leaseId, leaseExpiresAt } of leased) {
      const run = model.runs.get(taskId)!
      go(run, 'lease')
      const expiresAt = Math.min(model.nowMs + this.#seconds * 1000, run.deadlineAt)
      assert.equal(leaseExpiresAt, expiresAt)
      run.lease = { leaseId, collectorId: this.#collector, expiresAt }
    }
  }
}

/** A step that names a task and a lease. Either may belong to any collector. */
abstract class Work extends Step {
  readonly #task: number
  readonly collector: string
  readonly #byId: boolean
  constructor(name: string, task: number, collector: string, byId: boolean) {
    super(`${name} ${task} by ${collector}${byId ? ' under its lease' : ''}`)
    this.#task = task
    this.collector = collector
    this.#byId = byId
  }
  override check(): boolean {
    return true
  }
  async act(model: LiveModel, system: LiveSystem): Promise<void> {
    const runs = [...model.runs.values()]
    const run = runs[this.#task % Math.max(1, runs.length)]
    if (run === undefined) return
    const leaseId = this.#byId ? (run.lease?.leaseId ?? run.endedBy?.leaseId ?? 'lease_none') : null
    const claim = { taskId: run.taskId, collectorId: this.collector, leaseId }
    const isMine = run.lease?.collectorId === this.collector
    const why = ['pending', 'running'].includes(run.state)
      ? run.state === 'running' && isMine
        ? null
        : ('lease_lost' as const)
      : ('closed' as const)
    await this.work(model, system, run, claim, why)
  }
  abstract work(
    model: LiveModel,
    system: LiveSystem,
    run: ModelRun,
    claim: LeaseClaim,
    why: 'closed' | 'lease_lost' | null,
  ): Promise<void>
}

class Heartbeat extends Work {
  async work(
    model: LiveModel,
    { fixture }: LiveSystem,
    run: ModelRun,
    claim: LeaseClaim,
    why: 'closed' | 'lease_lost' | null,
  ): Promise<void> {
    const answer = await fixture.live.heartbeat(claim, 20_000, model.nowMs)
    if (why !== null) return assert.deepEqual(answer, { held: false, why })
    assert.ok(answer.held)
    go(run, 'heartbeat')
    run.lease!.expiresAt = Math.min(model.nowMs + 20_000, run.deadlineAt)
    assert.equal(answer.value.leaseExpiresAt, run.lease!.expiresAt)
  }
}

class Deliver extends Work {
  readonly #documents: readonly number[]
  constructor(task: number, collector: string, byId: boolean, documents: readonly number[]) {
    super(`deliver ${documents} to`, task, collector, byId)
    this.#documents = documents
  }
  async work(
    model: LiveModel,
    { fixture }: LiveSystem,
    run: ModelRun,
    claim: LeaseClaim,
    why: 'closed' | 'lease_lost' | null,
  ): Promise<void> {
    const ids = this.#documents.map((number) => `model-${number}`)
    const documents = ids.map((id) => plain(id, { datasetId: 'd1', platform: 'rss' }))
    const answer = await fixture.live.deliver(claim, documents, model.nowMs)
    if (why !== null) return assert.deepEqual(answer, { held: false, why })
    assert.ok(answer.held)
    go(run, 'deliver')
    for (const [i, id] of ids.entries()) {
      const fits = run.items.has(id) || run.items.size < run.maxItems
      assert.equal('documentId' in answer.value[i]!, fits)
      if (fits) run.items.add(id)
    }
  }
}

class Complete extends Work {
  readonly #event: 'succeed' | 'fail'
  constructor(task: number, collector: string, byId: boolean, event: 'succeed' | 'fail') {
    super(event, task, collector, byId)
    this.#event = event
  }
  async work(
    model: LiveModel,
    { fixture }: LiveSystem,
    run: ModelRun,
    claim: LeaseClaim,
    why: 'closed' | 'lease_lost' | null,
  ): Promise<void> {
    const error = this.#event === 'fail' ? { code: 'x', message: 'it failed' } : null
    const answer = await fixture.live.complete(claim, { event: this.#event, error }, model.nowMs)
    const again = run.lease?.collectorId === this.collector && run.endedBy?.event === this.#event
    if (why !== null && !again) return assert.deepEqual(answer, { held: false, why })
    assert.deepEqual(answer, { held: true, value: { items: run.items.size } })
    if (again) return
    go(run, this.#event)
    run.endedBy = { leaseId: run.lease!.leaseId, event: this.#event }
  }
}

class Wait extends Step {
  readonly #ms: number
  constructor(ms: number) {
    super(`wait ${ms} ms`)
    this.#ms = ms
  }
  async act(model: LiveModel): Promise<void> {
    model.nowMs += this.#ms
    pass(model)
  }
}

class Settle extends Step {
  async act(model: LiveModel, { fixture }: LiveSystem): Promise<void> {
    const before = await fixture.live.dueAt()
    const settled = await fixture.live.settle(model.nowMs, 2)
    assert.ok(settled <= 2)
    assert.equal(before !== null && before <= model.nowMs, settled > 0)
    const after = await fixture.live.dueAt()
    if (settled < 2) assert.ok(after === null || after > model.nowMs)
  }
}

class Cancel extends Step {
  readonly #query: number
  constructor(query: number) {
    super(`cancel ${query}`)
    this.#query = query
  }
  async act(model: LiveModel, { fixture }: LiveSystem): Promise<void> {
    const id = model.queries[this.#query % Math.max(1, model.queries.length)]
    // Only a live query that was just created is cancelled, never one that time has ended.
    const runs = [...model.runs.values()].filter(({ queryId }) => queryId === id)
    if (id === undefined || model.nowMs >= runs[0]!.deadlineAt) return
    await fixture.live.cancel(id, model.nowMs)
    for (const run of runs) if (['pending', 'running'].includes(run.state)) go(run, 'cancel')
  }
}

class Restart extends Step {
  async act(_model: LiveModel, system: LiveSystem): Promise<void> {
    system.fixture = await system.fixture.reopen()
  }
}

export function liveCommands() {
  const collector = fc.constantFrom('c1', 'c2')
  const task = fc.nat({ max: 7 })
  const platforms = fc.constantFrom(modelPlatforms.slice(0, 1), modelPlatforms.slice(1), modelPlatforms)
  const seconds = fc.constantFrom(1, 5, 10, 30, 900)
  return fc.commands<LiveModel, LiveSystem, false>(
    [
      fc.tuple(platforms, fc.constantFrom(10, 30, 300, 900)).map((made) => new Create(...made)),
      fc.tuple(collector, fc.integer({ min: 1, max: 4 }), seconds).map((made) => new Lease(...made)),
      fc.tuple(collector, fc.integer({ min: 1, max: 4 }), seconds).map((made) => new Lease(...made)),
      fc.tuple(task, collector, fc.boolean()).map((made) => new Heartbeat('heartbeat', ...made)),
      fc
        .tuple(task, collector, fc.boolean(), fc.array(fc.nat({ max: 5 }), { maxLength: 4 }))
        .map((made) => new Deliver(...made)),
      fc
        .tuple(task, collector, fc.boolean(), fc.constantFrom<'succeed' | 'fail'>('succeed', 'fail'))
        .map((made) => new Complete(...made)),
      fc.constantFrom(1, 999, 1000, 5000, 10_000, 30_000, 300_000).map((ms) => new Wait(ms)),
      fc.constant(new Settle('settle')),
      task.map((query) => new Cancel(query)),
      fc.constant(new Restart('restart')),
    ],
    { maxCommands: 40, size: 'max' },
  )
}
