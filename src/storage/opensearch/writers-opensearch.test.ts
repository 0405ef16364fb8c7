import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, suite, test } from 'node:test'
import {
  entry,
  everything,
  IndexUnderTest,
  listing,
  put,
  queryOf,
  timeoutMs,
} from '../../../test/contracts/index-under-test.ts'
import {
  bytesOnNodes,
  changingWatermarks,
  openSearchNodes,
  patience,
  withoutOpenSearch,
} from '../../../test/support/opensearch-nodes.ts'
import { until } from '../../../test/support/until.ts'
import type { SearchIndex } from '../../indexing/fed-index.ts'
import { isUnavailability, UnavailableError } from '../../platform/errors.ts'
import { noFilters } from '../../search/search-index.ts'
import { Cluster, type ClusterCall } from './cluster.ts'
import { familyOf, versionOf } from './index-names.ts'
import { indexDefinition, mappingFormat } from './mapping.ts'
import { OpenSearchHome } from './opensearch-home.ts'
import { UnreachableIndex } from './unreachable-index.ts'

/** Repeats the call while the cluster is unavailable, as servers do, because it may be on a busy machine. */
async function whenAvailable<T>(ask: () => Promise<T>): Promise<T> {
  let answer: { readonly value: T } | null = null
  await until('the cluster is available', async () => {
    answer = await ask().then(
      (value) => ({ value }),
      (error: unknown) => {
        if (!isUnavailability(error)) throw error
        return null
      },
    )
    return answer !== null
  })
  return answer!.value
}

suite('one index for several writers', { skip: openSearchNodes === null ? withoutOpenSearch : false }, () => {
  const prefix = `test-${randomBytes(4).toString('hex')}`
  const familyUnder = (under: string) => familyOf(under, versionOf('one'))
  const family = familyUnder(prefix)
  const homeOf = (instance = 'one', under = prefix, rules = 'one') =>
    new OpenSearchHome({
      nodes: openSearchNodes!,
      prefix: under,
      origin: { rules, instance },
      graceMs: 0,
      ...patience,
    })
  after(() => homeOf().remove())
  const opened = (home = homeOf()): Promise<SearchIndex> =>
    whenAvailable(async () => {
      const index = await home.open()
      if (index instanceof UnreachableIndex) throw new UnavailableError('the cluster was unreachable')
      return index
    })
  const call = (method: ClusterCall['method'], path: string, body?: object) =>
    new Cluster({ nodes: openSearchNodes! }).call<Record<string, unknown>>({
      ...{ method, path, idempotent: true, timeoutMs },
      ...(body === undefined ? {} : { body }),
    })
  const servedName = async () => Object.keys(await call('GET', `/${family}-current/_alias`))[0]!

  const purgedThrough = (index: SearchIndex, position: number, meanwhile = async () => {}): Promise<void> =>
    until('it is purged', async () => {
      await meanwhile()
      await whenAvailable(() => index.purge())
      return (await whenAvailable(() => index.health())).purgedThrough >= position
    })

  test('processes that open the first index at the same time share one', async () => {
    const indexes = await Promise.all([homeOf(), homeOf(), homeOf()].map((home) => opened(home)))
    assert.deepEqual(await indexes[0]!.apply({ position: 1, changes: [put('d1', ['word'])] }), { outcome: 'applied' })
    for (const index of indexes) assert.deepEqual(await new IndexUnderTest(index).found('word'), ['d1'])
  })

  test('the same if their generations differ, and if they replace an index of another instance', async (t) => {
    const under = `test-${randomBytes(4).toString('hex')}`
    t.after(() => homeOf('one', under).remove())
    const now = Date.now()
    let seconds = 0
    // Generations are numbered by the time, so each caller gets a later second than the one before.
    t.mock.method(Date, 'now', () => now + 1000 * seconds++)
    for (const instance of ['one', 'other']) {
      const indexes = await Promise.all(Array.from({ length: 3 }, () => opened(homeOf(instance, under))))
      assert.deepEqual(await indexes[0]!.apply({ position: 1, changes: [put('d1', [instance])] }), {
        outcome: 'applied',
      })
      for (const index of indexes) assert.deepEqual(await new IndexUnderTest(index).found(instance), ['d1'])
      assert.equal(Object.keys(await call('GET', `/${familyUnder(under)}-current/_alias`)).length, 1)
    }
  })

  test('of rebuilds that start at the same time, one wins, even if they replace one of another instance', async (t) => {
    const under = `test-${randomBytes(4).toString('hex')}`
    t.after(() => homeOf('one', under).remove())
    for (const instance of ['one', 'other']) await opened(homeOf(instance, under))
    const now = Date.now()
    let seconds = 0
    t.mock.method(Date, 'now', () => now + 1000 * seconds++)
    const pointedAt = async (which: string) => Object.keys(await call('GET', `/${familyUnder(under)}-${which}/_alias`))
    for (const instance of ['one', 'other']) {
      const started = await Promise.allSettled(Array.from({ length: 3 }, () => homeOf(instance, under).openNext()))
      const next = started.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []))
      // A process that looks after another has started continues that rebuild.
      for (const one of started)
        if (one.status === 'rejected') assert.match(String(one.reason), /run tidemark reindex again/)
      const [name, ...others] = await pointedAt('next')
      assert.deepEqual(others, [])
      assert.ok(next.length > 0 && name !== undefined)
      if (instance === 'one') continue
      await next[0]!.handOver()
      assert.deepEqual(await pointedAt('current'), [name])
    }
    // Two served indexes, and one of each rebuild: the process that came second leaves nothing.
    assert.equal(Object.keys(await call('GET', `/${under}-*`)).length, 4)
  })

  test('an index from before versions had names is another version: it stays unchanged, and can be removed', async (t) => {
    const under = `test-${randomBytes(4).toString('hex')}`
    t.after(() => homeOf('one', under).remove())
    const meta = { format: mappingFormat, rules: 'one', instance: 'one', shards: 1, profiles: {} }
    const before = `${under}-1700000000`
    await call('PUT', `/${before}-00000000`, {
      ...indexDefinition(meta, 1),
      aliases: { [before]: {}, [`${under}-current`]: {} },
    })
    const home = homeOf('one', under)
    const newer = homeOf('one', under, 'two')
    const [index] = [await opened(home), await opened(newer)]
    await index.apply({ position: 1, changes: [put('d1', ['word'])] })
    assert.deepEqual(Object.keys(await call('GET', `/${under}-current/_alias`)), [`${before}-00000000`])
    const versions = async (of: OpenSearchHome) =>
      (await whenAvailable(() => of.otherVersions())).map(({ version }) => version).sort()
    assert.deepEqual(await versions(home), [newer.version, null].sort())
    assert.deepEqual(await versions(newer), [home.version, null].sort())
    assert.deepEqual(await versions(homeOf('other', under, 'two')), [])
    await home.removeVersion(null)
    assert.deepEqual(await versions(home), [newer.version])
    await home.removeVersion(newer.version)
    await home.removeVersion(home.version)
    assert.deepEqual(await versions(home), [])
    assert.equal(await whenAvailable(() => index.position()), 1)
  })

  test('with two concurrent feeders no batch is lost, and none undoes another', async () => {
    const [one, other] = [await opened(), await opened()]
    await one.clear()
    const versions = Array.from({ length: 8 }, (_, i) => ({
      position: i + 1,
      changes: [put('d1', [`word ${i}`], { version: `v${i}` }), put(`only${i}`, ['word'])],
    }))
    const feed = async (index: typeof one): Promise<void> => {
      for (const batch of versions) {
        // Refused if the other writer was faster; then the batch is applied again, as the feeder does.
        while ((await index.apply(batch)).outcome !== 'applied');
      }
    }
    await Promise.all([feed(one), feed(other)])
    const index = new IndexUnderTest(other)
    assert.equal((await index.find('word')).totalChunks, 9)
    assert.deepEqual(await index.found('7'), ['d1'])
    assert.equal((await whenAvailable(() => other.health())).position, 8)
  })

  test('a late batch does not change what a later one has changed, and does not restore deleted documents', async () => {
    const index = await opened()
    await index.clear()
    const under = new IndexUnderTest(index)
    await under.apply(put('d1', ['old'], { version: 'v1' }), put('d2', ['old']))
    await under.apply(put('d1', ['new'], { version: 'v2' }), { kind: 'retire_document', documentId: 'd2' })
    // The position was lost, as after a batch that was written without its position.
    await call('PUT', `/${await servedName()}/_doc/position?refresh=true`, { position: 0 })
    const late = { position: 1, changes: [put('d1', ['old'], { version: 'v1' }), put('d2', ['old'])] }
    assert.deepEqual(await index.apply(late), { outcome: 'applied' })
    assert.deepEqual(await under.found('old new'), ['d1'])
    assert.deepEqual(await under.found('old'), [])
    const { documents, chunks } = await whenAvailable(() => index.health())
    assert.deepEqual([documents, chunks], [1, 2])
  })

  test('scores with the statistics of a page are the same as on that page, even after other changes', async () => {
    const index = await opened()
    await index.clear()
    const under = new IndexUnderTest(index)
    await under.apply(put('d1', ['word']), put('d2', ['word other']), put('d3', ['other']))
    const { hits, statistics } = await under.find('word')
    await under.apply(...Array.from({ length: 5 }, (_, i) => put(`later${i}`, ['word and more words than before'])))
    const common = { query: queryOf('word'), vectors: [], scope: everything, filters: noFilters, timeoutMs }
    const scored = async (by?: readonly number[]) => {
      const outcome = await index.score({ ...common, documentIds: ['d1', 'd2'], statistics: by })
      assert.ok(outcome.outcome === 'found', JSON.stringify(outcome))
      return outcome.scores.map(({ keyword }) => keyword!.score)
    }
    const before = ['d1', 'd2'].map((id) => hits.find(({ documentId }) => documentId === id)!.score)
    assert.deepEqual(await scored(statistics), before)
    assert.notDeepEqual(await scored(), before)
  })

  test('purging reports its position, and the index continues', async () => {
    const index = await opened()
    await index.clear()
    const under = new IndexUnderTest(index)
    await under.apply(put('d1', ['word']), put('d2', ['word']))
    await under.apply({ kind: 'retire_document', documentId: 'd1' })
    await purgedThrough(index, 2)
    await under.apply(put('d3', ['word']))
    assert.deepEqual(await under.found('word'), ['d2', 'd3'])
    assert.equal((await whenAvailable(() => index.health())).position, 3)
  })

  test('after a purge no byte of retired data is left, even with changes in between', async () => {
    const index = await opened()
    await index.clear()
    const under = new IndexUnderTest(index)
    const named = (name: string, i: number): string => `${name}-${i}-in-so-many-bytes`
    const some = Array.from({ length: 20 }, (_, i) => i)
    const made = (name: string) =>
      some.map((i) => {
        const own = named(name, i)
        return put(own, [`${own}-word`], { version: `${own}-version`, columns: { externalAuthorId: `${own}-author` } })
      })
    await under.apply(...made('gone'), ...made('changed'))
    await under.apply(...made('stays'))
    await call('POST', `/${await servedName()}/_flush?force=true`)
    const before = await bytesOnNodes(prefix)
    for (const name of ['gone', 'changed', 'stays']) assert.ok(before.includes(named(name, 0)), name)
    await under.apply(
      ...some.map((i) => ({ kind: 'retire_document', documentId: named('gone', i) }) as const),
      ...some.map((i) => {
        const own = named('changed', i)
        return { kind: 'retire_version', documentId: own, versionId: `${own}-version` } as const
      }),
    )
    let meanwhile = 0
    await purgedThrough(index, 3, () => under.apply(put(`other-${meanwhile++ % 3}`, ['word'])))
    const left = await bytesOnNodes(prefix)
    for (const i of some) {
      for (const name of ['gone', 'changed']) assert.ok(!left.includes(named(name, i)), named(name, i))
    }
    assert.ok(left.includes(named('stays', 0)))
    assert.ok(meanwhile > 0)
    assert.deepEqual((await under.found(`${named('stays', 1)}-word`)).length, 1)
  })

  test('the largest requests and scopes are within the limits of the cluster', async () => {
    const index = await opened()
    await index.clear()
    const under = new IndexUnderTest(index)
    await under.apply(put('d1', ['w7 w8']), put('d2', ['other']))
    const words = Array.from({ length: 500 }, (_, i) => `w${i}|v${i}`)
    const { clauses } = queryOf(words.join(' '))
    const boosts = words.slice(1).flatMap((word, i) => queryOf(`"${words[i]}_${word}"`).clauses)
    assert.deepEqual(await under.found('', { query: { clauses, boosts } }), ['d1'])
    const datasets = Array.from({ length: 5000 }, (_, i) => `dataset-${i}`)
    const scope = {
      entries: [
        { ...entry, datasets: [...datasets, 'news'] },
        ...datasets.slice(0, 50).map((one) => ({ ...entry, datasets: [one] })),
      ],
    }
    assert.deepEqual(await under.found('w7', { scope }), ['d1'])
  })

  test('counts follow every change by any process: versions, vectors, deletions', async () => {
    const [feeder, other] = [await opened(), await opened()]
    await feeder.clear()
    const under = new IndexUnderTest(feeder)
    const counted = async () => {
      const seen = await Promise.all([feeder, other].map((index) => whenAvailable(() => index.health())))
      return seen.map(({ documents, chunks, profiles }) => [documents, chunks, profiles.map((one) => one.chunks)])
    }
    const both = (counts: unknown) => [counts, counts]
    assert.deepEqual(await counted(), both([0, 0, []]))
    await under.apply(put('d1', ['one', 'two']), put('d2', ['three']))
    assert.deepEqual(await counted(), both([2, 3, []]))
    const vector = { kind: 'set_vector', profileId: 'p', vector: [1, 0] } as const
    const chunkId = (await under.find('three')).hits[0]!.chunkId
    await feeder.apply({ position: null, changes: [{ ...vector, documentId: 'd2', chunkId }] })
    assert.deepEqual(await counted(), both([2, 3, [1]]))
    await under.apply({ kind: 'retire_document', documentId: 'd2' })
    assert.deepEqual(await counted(), both([1, 2, [0]]))
  })

  test('a write block refuses the batch, and health and doctor report it; afterwards the index continues', async () => {
    const index = await opened()
    await index.clear()
    const under = new IndexUnderTest(index)
    await under.apply(put('d1', ['word']))
    const name = await servedName()
    // The cluster does the same itself when the disk of a node is full.
    await call('PUT', `/${name}/_settings`, { 'index.blocks.read_only_allow_delete': true })
    const batch = { position: 2, changes: [put('d2', ['word'])] }
    const refused = await index.apply(batch)
    assert.ok(refused.outcome === 'unavailable' && /cluster_block_exception/.test(refused.reason))
    const about = /refuses writes to the search index/
    const blocked = await whenAvailable(() => index.health())
    assert.deepEqual([blocked.takesWrites, about.test(blocked.warnings.join())], [false, true])
    const failures = async () =>
      (await whenAvailable(() => homeOf().inspect()))!.findings.filter(({ state }) => state === 'failure')
    assert.match((await failures()).map((one) => one.about).join(), about)
    assert.deepEqual(await under.found('word'), ['d1'])
    await call('PUT', `/${name}/_settings`, { 'index.blocks.read_only_allow_delete': null })
    assert.deepEqual(await index.apply(batch), { outcome: 'applied' })
    assert.deepEqual(await under.found('word'), ['d1', 'd2'])
    const { takesWrites, warnings } = await whenAvailable(() => index.health())
    assert.deepEqual([await failures(), takesWrites, about.test(warnings.join())], [[], true, false])
  })

  test('an index that somebody removed is created again', async () => {
    const home = homeOf()
    const index = await opened(home)
    await call('DELETE', `/${await servedName()}`)
    assert.equal((await index.values(listing)).outcome, 'unavailable')
    const again = await whenAvailable(() => home.openNewer())
    assert.equal(await whenAvailable(() => again!.position()), 0)
    assert.equal(await whenAvailable(() => home.openNewer()), null)
  })

  test('doctor reports disks above the watermarks of the cluster', async () => {
    const setMarks = (mark: string | null) =>
      call('PUT', '/_cluster/settings', {
        transient: Object.fromEntries(
          ['low', 'high', 'flood_stage'].map((one) => [`cluster.routing.allocation.disk.watermark.${one}`, mark]),
        ),
      })
    const disks = async () =>
      (await whenAvailable(() => homeOf().examine()))
        .filter(({ about }) => /disk of node/.test(about))
        .map(({ state }) => state)
    await opened()
    const found = await changingWatermarks(async () => {
      await setMarks('1b')
      assert.deepEqual(await disks(), [])
      await setMarks('0.001%')
      const full = await disks()
      await setMarks(null)
      return full
    })
    assert.ok(found.length > 0 && found.every((state) => state === 'failure'), found.join())
  })

  test('doctor reports fields that differ from those of this version', async () => {
    const odd = `${family}-9999999998`
    const meta = { format: mappingFormat, rules: 'one', instance: 'one', shards: 1, profiles: {} }
    const { settings, mappings } = indexDefinition(meta, 1)
    const { status: _, ...properties }: Record<string, object> = mappings.properties
    await call('PUT', `/${odd}-00000000`, {
      settings,
      mappings: { ...mappings, properties: { ...properties, author: { type: 'text' } } },
      aliases: { [odd]: {}, [`${family}-current`]: {} },
    })
    const found = (await whenAvailable(() => homeOf().inspect()))!.findings.map((one) => one.about)
    assert.match(found.join(), /fields of the search index differ from those of this version: status, author/)
    await call('DELETE', `/${odd}-00000000`)
  })

  test('an index that is on no node is unavailable, with the reason', async () => {
    const lost = `${family}-9999999999`
    const meta = { format: mappingFormat, rules: 'one', instance: 'one', shards: 1, profiles: {} }
    const { settings, mappings } = indexDefinition(meta, 1)
    await call('PUT', `/${lost}-00000000?wait_for_active_shards=0`, {
      settings: { ...settings, 'index.routing.allocation.require._name': 'nobody' },
      mappings,
      aliases: { [lost]: {}, [`${family}-current`]: {} },
    })
    const index = await opened()
    assert.equal((await index.values(listing)).outcome, 'unavailable')
    await assert.rejects(index.health(), { name: 'TidemarkError', code: 'search_backend_unavailable' })
    const found = (await whenAvailable(() => homeOf().inspect()))?.findings.filter(({ state }) => state === 'failure')
    assert.deepEqual(
      found?.map(({ about }) => /is red|cannot be read/.test(about)),
      [true, true],
    )
  })
})
