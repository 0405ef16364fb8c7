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
import { AbsentIndex } from './absent-index.ts'
import { Cluster, type ClusterCall } from './cluster.ts'
import { familyOf, versionOf } from './index-names.ts'
import { indexDefinition, mappingFormat } from './mapping.ts'
import { OpenSearchHome } from './opensearch-home.ts'

/** On a busy machine the cluster may seem away: then the call is repeated, as servers do. */
async function whenThere<T>(ask: () => Promise<T>): Promise<T> {
  let answer: { readonly is: T } | null = null
  await until('the cluster is there', async () => {
    answer = await ask().then(
      (is) => ({ is }),
      (error: unknown) => {
        if (!isUnavailability(error)) throw error
        return null
      },
    )
    return answer !== null
  })
  return answer!.is
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
    whenThere(async () => {
      const index = await home.open()
      if (index instanceof AbsentIndex) throw new UnavailableError('the cluster is taken for away')
      return index
    })
  const call = (method: ClusterCall['method'], path: string, body?: object) =>
    new Cluster({ nodes: openSearchNodes! }).call<Record<string, unknown>>({
      ...{ method, path, harmless: true, timeoutMs },
      ...(body === undefined ? {} : { body }),
    })
  const servedName = async () => Object.keys(await call('GET', `/${family}-current/_alias`))[0]!

  const purgedThrough = (index: SearchIndex, position: number, meanwhile = async () => {}): Promise<void> =>
    until('it is purged', async () => {
      await meanwhile()
      await whenThere(() => index.purge())
      return (await whenThere(() => index.health())).purgedThrough >= position
    })

  test('of processes that open the first index at once all have the same', async () => {
    const indexes = await Promise.all([homeOf(), homeOf(), homeOf()].map((home) => opened(home)))
    assert.deepEqual(await indexes[0]!.apply({ position: 1, changes: [put('d1', ['word'])] }), { outcome: 'applied' })
    for (const index of indexes) assert.deepEqual(await new IndexUnderTest(index).found('word'), ['d1'])
  })

  test('also where a second begins between them, and where they replace one of another instance', async (t) => {
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

  test('of rebuilds that begin at once, whatever the second, one is the next: also where they replace one of another instance', async (t) => {
    const under = `test-${randomBytes(4).toString('hex')}`
    t.after(() => homeOf('one', under).remove())
    for (const instance of ['one', 'other']) await opened(homeOf(instance, under))
    const now = Date.now()
    let seconds = 0
    t.mock.method(Date, 'now', () => now + 1000 * seconds++)
    const pointedAt = async (which: string) => Object.keys(await call('GET', `/${familyUnder(under)}-${which}/_alias`))
    for (const instance of ['one', 'other']) {
      const begun = await Promise.allSettled(Array.from({ length: 3 }, () => homeOf(instance, under).openNext()))
      const next = begun.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []))
      // A process that looks after another has begun continues that rebuild.
      for (const one of begun)
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

  test('an index of the time before versions had names is another version: nobody moves it, and it can be removed', async (t) => {
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
      (await whenThere(() => of.otherVersions())).map(({ version }) => version).sort()
    assert.deepEqual(await versions(home), [newer.version, null].sort())
    assert.deepEqual(await versions(newer), [home.version, null].sort())
    assert.deepEqual(await versions(homeOf('other', under, 'two')), [])
    await home.removeVersion(null)
    assert.deepEqual(await versions(home), [newer.version])
    await home.removeVersion(newer.version)
    await home.removeVersion(home.version)
    assert.deepEqual(await versions(home), [])
    assert.equal(await whenThere(() => index.position()), 1)
  })

  test('two that take themselves for the one who feeds: no batch is lost, none undoes another', async () => {
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
    assert.equal((await whenThere(() => other.health())).position, 8)
  })

  test('a batch that comes late changes nothing that a later one has changed, and raises nobody from the dead', async () => {
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
    const { documents, chunks } = await whenThere(() => index.health())
    assert.deepEqual([documents, chunks], [1, 2])
  })

  test('what is scored by the statistics of a page scores as it did there, though others came meanwhile', async () => {
    const index = await opened()
    await index.clear()
    const under = new IndexUnderTest(index)
    await under.apply(put('d1', ['word']), put('d2', ['word other']), put('d3', ['other']))
    const { hits, statistics } = await under.find('word')
    await under.apply(...Array.from({ length: 5 }, (_, i) => put(`later${i}`, ['word and more words than before'])))
    const asked = { query: queryOf('word'), vectors: [], scope: everything, filters: noFilters, timeoutMs }
    const scored = async (by?: readonly number[]) => {
      const outcome = await index.score({ ...asked, documentIds: ['d1', 'd2'], statistics: by })
      assert.ok(outcome.outcome === 'found', JSON.stringify(outcome))
      return outcome.scores.map(({ keyword }) => keyword!.score)
    }
    const before = ['d1', 'd2'].map((id) => hits.find(({ documentId }) => documentId === id)!.score)
    assert.deepEqual(await scored(statistics), before)
    assert.notDeepEqual(await scored(), before)
  })

  test('purging tells up to where, and the index goes on', async () => {
    const index = await opened()
    await index.clear()
    const under = new IndexUnderTest(index)
    await under.apply(put('d1', ['word']), put('d2', ['word']))
    await under.apply({ kind: 'retire_document', documentId: 'd1' })
    await purgedThrough(index, 2)
    await under.apply(put('d3', ['word']))
    assert.deepEqual(await under.found('word'), ['d2', 'd3'])
    assert.equal((await whenThere(() => index.health())).position, 3)
  })

  test('when all is purged no byte is left of what was retired before, whatever came meanwhile', async () => {
    const index = await opened()
    await index.clear()
    const under = new IndexUnderTest(index)
    const named = (name: string, i: number): string => `${name}-${i}-in-so-many-bytes`
    const some = Array.from({ length: 20 }, (_, i) => i)
    const made = (name: string) =>
      some.map((i) => {
        const own = named(name, i)
        return put(own, [`${own}-word`], { version: `${own}-version`, columns: { authorId: `${own}-author` } })
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

  test('as many words as a request can have, and as many datasets as a scope, are answered', async () => {
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

  test('counts follow every change, whoever made it: versions, vectors, what is gone', async () => {
    const [feeder, other] = [await opened(), await opened()]
    await feeder.clear()
    const under = new IndexUnderTest(feeder)
    const counted = async () => {
      const seen = await Promise.all([feeder, other].map((index) => whenThere(() => index.health())))
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

  test('an index that takes no writes says so: the batch is refused, health warns, doctor fails; then it goes on', async () => {
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
    const about = /takes no writes into the search index/
    const blocked = await whenThere(() => index.health())
    assert.deepEqual([blocked.takesWrites, about.test(blocked.warnings.join())], [false, true])
    const failures = async () =>
      (await whenThere(() => homeOf().inspect()))!.findings.filter(({ state }) => state === 'failure')
    assert.match((await failures()).map((one) => one.about).join(), about)
    assert.deepEqual(await under.found('word'), ['d1'])
    await call('PUT', `/${name}/_settings`, { 'index.blocks.read_only_allow_delete': null })
    assert.deepEqual(await index.apply(batch), { outcome: 'applied' })
    assert.deepEqual(await under.found('word'), ['d1', 'd2'])
    const { takesWrites, warnings } = await whenThere(() => index.health())
    assert.deepEqual([await failures(), takesWrites, about.test(warnings.join())], [[], true, false])
  })

  test('an index that somebody removed is made anew', async () => {
    const home = homeOf()
    const index = await opened(home)
    await call('DELETE', `/${await servedName()}`)
    assert.equal((await index.values(listing)).outcome, 'unavailable')
    const again = await whenThere(() => home.openNewer())
    assert.equal(await whenThere(() => again!.position()), 0)
    assert.equal(await whenThere(() => home.openNewer()), null)
  })

  test('disks beyond the marks of the cluster are told to doctor', async () => {
    const setMarks = (mark: string | null) =>
      call('PUT', '/_cluster/settings', {
        transient: Object.fromEntries(
          ['low', 'high', 'flood_stage'].map((one) => [`cluster.routing.allocation.disk.watermark.${one}`, mark]),
        ),
      })
    const disks = async () =>
      (await whenThere(() => homeOf().examine()))
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

  test('fields that are not as this version makes them are told to doctor', async () => {
    const odd = `${family}-9999999998`
    const meta = { format: mappingFormat, rules: 'one', instance: 'one', shards: 1, profiles: {} }
    const { settings, mappings } = indexDefinition(meta, 1)
    const { status: _, ...properties } = mappings.properties
    await call('PUT', `/${odd}-00000000`, {
      settings,
      mappings: { ...mappings, properties: { ...properties, author: { type: 'text' } } },
      aliases: { [odd]: {}, [`${family}-current`]: {} },
    })
    const found = (await whenThere(() => homeOf().inspect()))!.findings.map((one) => one.about)
    assert.match(found.join(), /fields of the search index are not as this version makes them: status, author/)
    await call('DELETE', `/${odd}-00000000`)
  })

  test('an index that no node has is unavailable, and says so', async () => {
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
    const found = (await whenThere(() => homeOf().inspect()))?.findings.filter(({ state }) => state === 'failure')
    assert.deepEqual(
      found?.map(({ about }) => /is red|cannot be read/.test(about)),
      [true, true],
    )
  })
})
