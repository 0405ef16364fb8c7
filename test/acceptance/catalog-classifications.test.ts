import assert from 'node:assert/strict'
import { before, suite, test } from 'node:test'
import { Catalog, datasetsOf } from './catalog-requests.ts'

const datasets = datasetsOf('classifications')
const { news, forum } = datasets

const path = '/v1/classifications'
const code = 'invalid_classification_query'

suite('the classification dictionary', () => {
  let catalog: Catalog
  const put = (dataset: string, name: string, fields: object = {}) =>
    catalog.server.mustAdmin('PUT', `/admin/v1/datasets/${dataset}/classifications/${encodeURIComponent(name)}`, {
      name: `Name of ${name}`,
      ...fields,
    })
  before(async () => {
    catalog = await Catalog.start(datasets)
    const labels = { type: 'object', nested: { list: [1, 'two', null, { deep: true }] } }
    await put(news, 'sports', { description: 'Games', label_schema: labels })
    for (const name of ['arts', 'Zoo', 'économie', 'b-2', 'b-10']) await put(news, name)
    await put(news, 'hidden', { active: false })
    await put(forum, 'sports')
    for (let i = 0; i < 103; i++) await put(forum, `c${String(i).padStart(3, '0')}`)
  })

  test('active ones of one dataset by code ascending, with their label schema as stored', async () => {
    const { body } = await catalog.get(path, { dataset_id: news })
    const codes = body.classifications.map((one: { code: string }) => one.code)
    assert.deepEqual(codes, ['Zoo', 'arts', 'b-10', 'b-2', 'sports', 'économie'])
    assert.equal(body.next_after_code, null)
    assert.deepEqual(body.classifications[4], {
      code: 'sports',
      dataset_id: news,
      name: 'Name of sports',
      description: 'Games',
      label_schema: { type: 'object', nested: { list: [1, 'two', null, { deep: true }] } },
    })
    assert.deepEqual(body.classifications[0].description, null)
    assert.deepEqual(body.classifications[0].label_schema, {})
  })

  test('100 a page at the most and when nothing is said; after_code pages to the end', async () => {
    const first = (await catalog.get(path, { dataset_id: forum })).body
    assert.equal(first.classifications.length, 100)
    assert.equal(first.next_after_code, 'c099')
    const last = (await catalog.get(path, { dataset_id: forum, after_code: first.next_after_code })).body
    assert.deepEqual(
      last.classifications.map((one: { code: string }) => one.code),
      ['c100', 'c101', 'c102', 'sports'],
    )
    assert.equal(last.next_after_code, null)
  })

  test('every limit reads every code once; a page that is exactly full at the end has no next', async () => {
    for (const limit of [1, 4, 52, 99, 100]) {
      const codes: string[] = []
      for (let after: string | null = null; ; ) {
        const { body } = await catalog.get(path, {
          dataset_id: forum,
          limit,
          ...(after === null ? {} : { after_code: after }),
        })
        codes.push(...body.classifications.map((one: { code: string }) => one.code))
        if (body.next_after_code === null) break
        assert.equal(body.classifications.length, limit)
        after = body.next_after_code
        assert.equal(after, codes.at(-1))
      }
      assert.equal(codes.length, 104)
      assert.deepEqual(codes, [...new Set(codes)].sort())
    }
  })

  test('after_code need not exist; beyond the last there is nothing', async () => {
    const after = async (text: string) =>
      (await catalog.get(path, { dataset_id: news, after_code: text })).body.classifications.map(
        (one: { code: string }) => one.code,
      )
    assert.deepEqual(await after('b'), ['b-10', 'b-2', 'sports', 'économie'])
    assert.deepEqual(await after('hidden'), ['sports', 'économie'])
    assert.deepEqual(await after('~'), ['économie'])
    assert.deepEqual(await after('économie'), [])
  })

  test('one that becomes inactive disappears, and comes back', async () => {
    const codes = async () =>
      (await catalog.get(path, { dataset_id: news })).body.classifications.map((one: { code: string }) => one.code)
    await put(news, 'arts', { active: false })
    assert.ok(!(await codes()).includes('arts'))
    await put(news, 'arts', { active: true })
    assert.ok((await codes()).includes('arts'))
  })

  test('a dataset without any is 200 with an empty list, and so is a code that no document has', async () => {
    await catalog.server.makeDataset('empty')
    const key = await catalog.keyFor({ datasets: ['empty', news] })
    const { body } = await catalog.get(path, { dataset_id: 'empty' }, key)
    assert.deepEqual(body, { classifications: [], next_after_code: null })
    assert.deepEqual((await catalog.list({ classification_codes: 'sports' })).documents, [])
  })

  test('a code that documents have and the dictionary does not can still be listed by', async () => {
    await catalog.send({ wild: { facts: [{ kind: 'category', metadata: { label_code: 'wild' } }] } })
    assert.deepEqual(await catalog.names({ classification_codes: 'wild' }), ['wild'])
  })

  test('bad input is 400 with the parameter named', async () => {
    await catalog.refused({}, 'dataset_id', { path, code })
    await catalog.refused({ dataset_id: '' }, 'dataset_id', { path, code })
    for (const limit of [0, 101, -1, 1.5, 'x', '']) {
      await catalog.refused({ dataset_id: news, limit }, 'limit', { path, code })
    }
    for (const after_code of ['', 'x'.repeat(129)]) {
      await catalog.refused({ dataset_id: news, after_code }, 'after_code', { path, code })
    }
    for (const name of ['cursor', 'active', 'code', 'offset']) {
      await catalog.refused({ dataset_id: news, [name]: '1' }, name, { path, code })
    }
    const twice = await catalog.get(`${path}?dataset_id=${news}&dataset_id=${forum}`)
    assert.equal(twice.status, 400)
    assert.equal(twice.body.code, code)
  })

  test('needs facts in an entry of that dataset, whatever else the entry restricts', async () => {
    const query = { dataset_id: news }
    await catalog.denied(
      query,
      await catalog.keyFor({ datasets: [news], fields: ['title', 'metadata', 'metrics'] }),
      path,
    )
    await catalog.denied(query, await catalog.keyFor({ datasets: [forum] }), path)
    const split = await catalog.keyFor(
      { datasets: [news], fields: ['title'] },
      { datasets: [forum], fields: ['facts'] },
    )
    await catalog.denied(query, split, path)
    await catalog.denied({ dataset_id: 'unknown' }, catalog.key, path)
    const narrow = await catalog.keyFor({ datasets: [news], platforms: ['p'], languages: ['de'], fields: ['facts'] })
    assert.equal((await catalog.get(path, query, narrow)).body.classifications.length, 6)
  })
})
