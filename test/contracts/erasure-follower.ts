import assert from 'node:assert/strict'
import fc from 'fast-check'
import { fieldPermissions } from '../../src/access/scope.ts'
import { eventTypes } from '../../src/changes/change-log.ts'
import type { ExportPosition } from '../../src/export/export-source.ts'
import { firstIdAt, newId } from '../../src/platform/ids.ts'
import { eventsOf, openScope } from './content-store.ts'
import type { ErasureFixture } from './erasure-store.ts'

/** All steps act on two datasets with a few documents. Each step advances the time a little or much. */
export const followedStep = fc.record({
  waitMs: fc.constantFrom(1, 1, 200, 800),
  what: fc.oneof(
    { weight: 4, arbitrary: fc.record({ send: fc.nat(3), dataset: fc.nat(1) }) },
    { weight: 2, arbitrary: fc.record({ erase: fc.nat(1) }) },
    { weight: 3, arbitrary: fc.record({ work: fc.integer({ min: 1, max: 2 }) }) },
    { weight: 4, arbitrary: fc.record({ read: fc.integer({ min: 1, max: 3 }) }) },
    { weight: 1, arbitrary: fc.record({ beginAnew: fc.constant(true) }) },
  ),
})
type Step = typeof followedStep extends fc.Arbitrary<infer T> ? T : never

const startMs = Date.UTC(2026, 0)
const datasets = ['d0', 'd1']
const mark = (at: number) => ({ actor: 'test', at })
/** The age that a process's cached rights of a key may reach. */
const rememberedMs = 500

/**
 * An application as described in docs/consumers.md, reading through ports, while documents arrive and datasets are
 * erased a few documents at a time. At the end its copy equals the store.
 */
export async function followed(store: ErasureFixture, steps: readonly Step[]): Promise<void> {
  const { access, catalog, changes, content, erasures, exportSource, operator } = store
  const owner = { kind: 'consumer', id: 'app' }
  const key = { keyId: 'key', owner, rights: null, name: null, prefix: 'tmc_', hash: 'h', expiresAt: null }
  await operator.commit(
    [
      ...datasets.map((datasetId) => ({ kind: 'dataset.put', datasetId, name: datasetId, description: null }) as const),
      { kind: 'application.create', applicationId: 'app', name: 'a', policy: {} },
      { kind: 'key.create', ...key },
    ],
    mark(startMs),
  )
  let now = startMs
  let sent = 0
  const running = new Set<string>()

  let hidden: { readonly at: number; readonly datasets: readonly string[] } | null = null
  const readable = async (): Promise<string[]> => {
    if (hidden === null || now - hidden.at > rememberedMs) {
      const found = (await access.findKey('h'))!.owner
      assert.equal(found.kind, 'consumer')
      hidden = { at: now, datasets: 'hiddenDatasets' in found ? found.hiddenDatasets : [] }
    }
    return datasets.filter((one) => !hidden!.datasets.includes(one))
  }
  const copy = new Map<string, string | null>()
  let exporting: { readonly after: ExportPosition | null } | null = null
  let position = 0
  const beginAnew = async (): Promise<void> => {
    copy.clear()
    exporting = { after: null }
    position = (await changes.state()).newest
  }
  const open = { platforms: null, languages: null, regions: null, publishedFrom: null, publishedTo: null }
  /** Returns whether there was nothing to do. */
  const read = async (most: number): Promise<boolean> => {
    if (exporting !== null) {
      const scope = { entries: [{ ...open, datasets: [...(await readable()), ''], fields: fieldPermissions }] }
      const query = { scope, after: exporting.after, versions: 'current', documentsMax: most } as const
      const { lines, position: after, atEnd } = await exportSource.portion(query)
      for (const line of Buffer.from(lines).toString().split('\n').slice(0, -1)) {
        const { document } = JSON.parse(line)
        copy.set(document.id, document.title)
      }
      exporting = atEnd ? null : { after }
      return false
    }
    const page = await changes.read({
      ...{ after: position, limit: most, scanMax: 1000, ingestedFrom: null, ingestedTo: null },
      ...{ scope: openScope(...datasets), eventTypes },
    })
    const ids = [...new Set(eventsOf(page).map(({ documentId }) => documentId))]
    const found = ids.length === 0 ? [] : await catalog.documents(ids, { snapshot: false })
    const seen = await readable()
    for (const id of ids) copy.delete(id)
    for (const { documentId, datasetId, title } of found) if (seen.includes(datasetId)) copy.set(documentId, title)
    position = page.position
    return ids.length === 0
  }
  /** One step of each job, as the worker makes them. */
  const work = async (most: number): Promise<void> => {
    for (const { erasureId, isHidden } of await erasures.unfinished()) {
      if (!isHidden) await erasures.hide(erasureId, most, now)
      else if ((await erasures.announceArrivals(erasureId, most, now)) === 'done') {
        await erasures.complete(erasureId, now)
        running.delete(erasureId)
      }
    }
  }

  await beginAnew()
  for (const { waitMs, what } of steps) {
    now += waitMs
    if ('send' in what) {
      const document = { datasetId: `d${what.dataset}`, platform: 'p', externalId: `e${what.send}` }
      await content.ingest([{ ...document, title: `title ${sent++}`, observedAt: startMs }], now)
    } else if ('erase' in what) {
      const datasetId = `d${what.erase}`
      const dataset = { datasetId, below: firstIdAt('doc', now + 1) }
      const owned = (await access.findKey('h'))!.owner
      // Only one job at a time can hide a dataset.
      if ('hiddenDatasets' in owned && owned.hiddenDatasets.includes(datasetId)) continue
      const erasureId = newId('ers', now)
      running.add(erasureId)
      const request = { keepTombstones: false, purgeArtifacts: false, mustExist: false }
      await erasures.begin({ erasureId, selection: { dataset }, ...request }, mark(now))
    } else if ('work' in what) await work(what.work)
    else if ('read' in what) await read(what.read)
    else await beginAnew()
  }
  while (running.size > 0) {
    now += 700
    await work(2)
  }
  now += rememberedMs + 1
  while (!(await read(3)));
  const there = await exportSource.portion({
    scope: { entries: [{ ...open, datasets, fields: fieldPermissions }] },
    after: null,
    versions: 'current',
    documentsMax: 1000,
  })
  const stored = Buffer.from(there.lines).toString().split('\n').slice(0, -1)
  assert.ok(there.atEnd)
  assert.deepEqual(
    Object.fromEntries(copy),
    Object.fromEntries(stored.map((line) => JSON.parse(line).document).map(({ id, title }) => [id, title])),
  )
}
