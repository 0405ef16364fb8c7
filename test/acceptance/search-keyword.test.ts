import assert from 'node:assert/strict'
import { before, suite, test } from 'node:test'
import { resultNames } from '../support/document-fields.ts'
import { documentsOf, type Sent } from './content.ts'
import { countsSuite } from './search-counts.ts'
import { type SearchWorld, sharedWorld } from './search-world.ts'

const datasets = ['keyword-news', 'keyword-forum'] as const
const [news, forum] = datasets
const documentOf = documentsOf(news)

/** Keyword search in one small collection: syntax, languages, filters, and the fields of a result. */
let world: SearchWorld

const long = (word: string, at: number, words: number): string =>
  Array.from({ length: words }, (_, i) => (i === at ? word : `filler${i % 97}`)).join(' ')

const documents: readonly Sent[] = [
  documentOf('fox', { language: 'en', title: 'Animals', body: 'The quick brown fox jumps over the lazy dog.' }),
  documentOf('fox-2', { language: 'en', title: 'Colours', body: 'A fox that is brown; it is quick too.' }),
  documentOf('dog', { language: 'en', title: 'Dogs', body: 'A lazy dog sleeps all day, the cat does not.' }),
  documentOf('minus', { language: 'en', title: 'Winter', body: 'At night it was -5 degrees.' }),
  documentOf('running', { language: 'en', title: 'Sports', body: 'Runners were running through several cities.' }),
  documentOf('laufen', {
    language: 'de',
    title: 'Häuser',
    body: 'Die Häuser stehen am Fluss und die Straße endet dort.',
  }),
  documentOf('cafe', { language: 'fr', title: 'Café', body: 'Un café crème à la française, déjà servi à Orléans.' }),
  documentOf('zh', { language: 'zh', title: '机器学习', body: '人工智能和机器学习正在改变世界。' }),
  documentOf('ja', { language: 'ja', title: '東京タワー', body: '東京タワーは東京都港区にある電波塔です。' }),
  documentOf('ko', { language: 'ko', title: '서울', body: '대한민국의 수도는 서울특별시입니다.' }),
  documentOf('th', { language: 'th', title: 'กรุงเทพ', body: 'กรุงเทพมหานครเป็นเมืองหลวงของประเทศไทย' }),
  documentOf('ru', { language: 'ru', title: 'Москва', body: 'Москва является столицей России, городов много.' }),
  documentOf('ar', { language: 'ar', title: 'القاهرة', body: 'القاهرة هي عاصمة مصر وأكبر مدنها' }),
  documentOf('lighthouse', {
    language: 'en',
    title: 'The restoration of a lighthouse',
    body: 'Keepers of the lighthouse wait for its restoration.',
  }),
  documentOf('light', { language: 'en', title: null, body: 'The paint was stripped lightheartedly.' }),
  documentOf('title-only', { title: 'Zeppelin over the lake', body: null }),
  documentOf('body-only', { title: null, body: 'A zeppelin was seen.' }),
  documentOf('escaped', { title: 'A <b>bold</b> "claim"', body: `<script>alert("walrus & 'tusk'")</script>` }),
  documentOf('long', { language: 'en', title: 'Long', body: `${long('needleword', 3000, 6000)}` }),
  documentOf('forum', { dataset_id: forum, source_platform: 'board', title: 'Petrel', body: 'petrel watch' }),
  documentOf('early', {
    title: 'Petrel',
    body: 'petrel early',
    region: 'GB',
    language: 'en',
    content_type: 'article',
    published_at: '2026-01-01T00:00:00Z',
  }),
  documentOf('late', { title: 'Petrel', body: 'petrel late', language: 'de', published_at: '2026-02-01T00:00:00Z' }),
]

before(async () => {
  world = await sharedWorld(datasets)
  await world.putIndexed(...documents)
})

const sorted = async (query: string, more: object = {}): Promise<string[]> =>
  (await world.names({ query, ...more })).sort()

suite('query syntax', () => {
  test('bare words are OR-ed; what has more of them comes first', async () => {
    assert.deepEqual(await sorted('fox cat'), ['dog', 'fox', 'fox-2'])
    assert.equal((await world.names({ query: 'lazy cat' }))[0], 'dog')
  })

  test('a phrase matches its words side by side, in order', async () => {
    assert.deepEqual(await sorted('"brown fox"'), ['fox'])
    assert.deepEqual(await sorted('"fox brown"'), [])
    assert.deepEqual(await sorted('+"lazy dog" -"quick brown"'), ['dog'])
  })

  test('+ demands, - forbids', async () => {
    assert.deepEqual(await sorted('+fox +dog'), ['fox'])
    assert.deepEqual(await sorted('fox -dog'), ['fox-2'])
    assert.deepEqual(await sorted('+lazy cat'), ['dog', 'fox'])
    assert.deepEqual(await sorted('+fox +walrus'), [])
  })

  test('a minus sign before a number is text, in every mode', async () => {
    for (const mode of ['keyword', 'vector', 'hybrid']) {
      const plain = await sorted('fox 5 cat', { mode })
      assert.ok(plain.includes('minus'), mode)
      assert.deepEqual(await sorted('fox -5 cat', { mode }), plain, mode)
      assert.ok((await sorted('-5', { mode })).includes('minus'), mode)
    }
  })

  test('in hybrid mode + and - decide what may be found, too; in vector mode they are text', async () => {
    assert.deepEqual(await sorted('+fox -dog', { mode: 'hybrid' }), ['fox-2'])
    const near = await sorted('+fox -dog', { mode: 'vector' })
    assert.ok(near.includes('dog') && near.includes('fox'), `${near}`)
  })

  test('nothing but negatives finds nothing', async () => {
    const found = await world.search({ query: '-fox -"lazy dog"' })
    assert.deepEqual([found.results, found.total_chunks, found.degraded], [[], 0, false])
  })

  test('what does not parse is taken as bare words', async () => {
    assert.ok((await sorted('"brown fox')).includes('fox-2'))
    assert.deepEqual(await sorted('fox"'), ['fox', 'fox-2'])
    assert.deepEqual(await sorted('+ fox'), ['fox', 'fox-2'])
    assert.deepEqual(await sorted('- fox'), ['fox', 'fox-2'])
    for (const query of ['""', '+', '-', '+-"', '"""', '!?.,', '()[]{}', '\\', '%_*', '\u0000', "'; drop table --"]) {
      assert.deepEqual(await sorted(query), [], query)
    }
  })

  test('title and body are searched, and nothing else', async () => {
    assert.deepEqual(await sorted('zeppelin'), ['body-only', 'title-only'])
    assert.deepEqual(await sorted('rss'), [])
    assert.deepEqual(await sorted('board'), [])
  })
})

suite('languages', () => {
  test('case, accents and endings do not matter', async () => {
    assert.deepEqual(await sorted('QUICK'), ['fox', 'fox-2'])
    assert.deepEqual(await sorted('cafe'), ['cafe'])
    assert.deepEqual(await sorted('CAFÉ'), ['cafe'])
    assert.deepEqual(await sorted('francaise orleans'), ['cafe'])
    assert.deepEqual(await sorted('run city'), ['running'])
    assert.deepEqual(await sorted('Haus', { languages: ['de'] }), ['laufen'])
    assert.deepEqual(await sorted('hauser'), ['laufen'])
    assert.deepEqual(await sorted('strasse'), ['laufen'])
    assert.deepEqual(await sorted('город', { languages: ['ru'] }), ['ru'])
  })

  test('Chinese, Japanese, Thai and Korean need no spaces', async () => {
    assert.deepEqual(await sorted('机器学习'), ['zh'])
    assert.deepEqual(await sorted('智能'), ['zh'])
    assert.deepEqual(await sorted('電波塔'), ['ja'])
    assert.deepEqual(await sorted('タワー'), ['ja'])
    for (const kana of ['ワ', 'タ', 'す', 'ﾜ']) assert.deepEqual(await sorted(kana), ['ja'], kana)
    assert.deepEqual(await sorted('서울'), ['ko'])
    assert.deepEqual(await sorted('수도'), ['ko'])
    assert.deepEqual(await sorted('เมืองหลวง'), ['th'])
    assert.deepEqual(await sorted('القاهرة'), ['ar'])
  })

  test('full-width letters are letters', async () => {
    assert.deepEqual(await sorted('ｆｏｘ'), ['fox', 'fox-2'])
  })
})

suite('typing errors and beginnings of words', () => {
  test('`typo` finds what was meant, says so, marks it, and ranks it below what is there as typed', async () => {
    assert.deepEqual(await sorted('ligthouse restoraton'), [])
    const asked = { query: 'Ligthouse restoraton', typo: 'auto', include_highlights: true }
    const found = await world.search(asked)
    assert.deepEqual(world.namesOf(found.results), ['lighthouse'])
    assert.deepEqual(found.corrections, [
      { from: 'Ligthouse', to: 'lighthouse' },
      { from: 'restoraton', to: 'restoration' },
    ])
    assert.equal(found.results[0]!.highlights![0], 'The <em>restoration</em> of a <em>lighthouse</em>')
    assert.equal((await world.search({ ...asked, typo: 'off' })).total, 0)
    const exact = await world.search({ query: 'lighthouse', typo: 'auto' })
    assert.equal('corrections' in exact, false)
    const always = await world.search({ query: 'fax', typo: 'always' })
    assert.deepEqual([always.total, 'corrections' in always], [0, false], 'three letters are too few')
    assert.deepEqual(await sorted('+ligthouse +keeprs', { typo: 'auto' }), ['lighthouse'])
    assert.deepEqual(await sorted('"ligthouse" -keepr lzy3', { typo: 'always' }), [])
    const german = await world.search({ query: 'Häusre', typo: 'auto' })
    assert.deepEqual(german.corrections, [{ from: 'Häusre', to: 'häuser' }])
  })

  test('`prefix` takes the last word for a beginning, with a typing error in it too', async () => {
    assert.deepEqual(await sorted('lightho', { prefix: true }), ['lighthouse'])
    assert.deepEqual(await sorted('lightho', { prefix: false }), [])
    assert.deepEqual(await sorted('restorat', { prefix: true }), ['lighthouse'])
    assert.deepEqual(await sorted('lightho fox', { prefix: true }), ['fox', 'fox-2'])
    assert.deepEqual(await sorted('+lazy do', { prefix: true }), ['dog', 'fox'])
    assert.deepEqual(await sorted('ligh', { prefix: true }), ['light', 'lighthouse'])
    const found = await world.search({ query: 'ligthho', prefix: true, typo: 'auto', include_highlights: true })
    assert.deepEqual(found.corrections, [{ from: 'ligthho', to: 'lighthouse' }])
    assert.match(found.results[0]!.highlights!.join(), /<em>lighthouse<\/em>/)
  })

  test('a Korean syllable is the beginning of words, not of what is within one', async () => {
    const begun = (query: string) => sorted(query, { prefix: true })
    for (const syllable of ['대', '수', '서', '대'.normalize('NFD')]) assert.deepEqual(await begun(syllable), ['ko'])
    for (const syllable of ['민', '국', '도', '특', '울']) assert.deepEqual(await begun(syllable), [], syllable)
    assert.deepEqual(await begun('서울특'), ['ko'])
    for (const syllable of ['대', '수']) assert.deepEqual(await sorted(syllable), [], 'no word by itself')
  })

  test('what the reader may not see is neither suggested nor found', async () => {
    const titles = await world.application([{ datasets: [news], fields: ['title'] }])
    const bodies = await world.application([{ datasets: [forum], fields: ['body'] }])
    const ask = async (query: string, key: string) => {
      const { results, corrections = [] } = await world.search({ query, typo: 'auto', prefix: true }, '/v1/search', key)
      return [world.namesOf(results), corrections.map(({ to }) => to)]
    }
    assert.deepEqual(await ask('keepr', world.key), [['lighthouse'], ['keepers']])
    assert.deepEqual(await ask('keepr', titles), [[], []])
    assert.deepEqual(await ask('keepe', titles), [[], []])
    assert.deepEqual(await ask('restoraton', titles), [['lighthouse'], ['restoration']])
    assert.deepEqual(await ask('restoraton', bodies), [[], []])
    assert.deepEqual(await ask('restora', bodies), [[], []])
  })

  test('pages go on, bound to what was asked; other modes refuse it', async () => {
    const asked = { query: 'petrol lat', typo: 'auto', prefix: true, limit: 1 }
    const first = await world.search(asked)
    const second = await world.search({ ...asked, cursor: first.cursor })
    const third = await world.search({ ...asked, cursor: second.cursor })
    assert.deepEqual(world.namesOf([...first.results, ...second.results, ...third.results]).sort(), [
      'early',
      'forum',
      'late',
    ])
    assert.equal((await world.raw({ ...asked, typo: 'off', cursor: first.cursor })).status, 400)
    for (const more of [{ typo: 'auto' }, { prefix: true }, { typo: 'perhaps', mode: 'keyword' }]) {
      const answer = await world.raw({ query: 'fox', mode: 'hybrid', ...more })
      assert.deepEqual([answer.status, answer.body.code], [400, 'invalid_query'])
      assert.equal(answer.body.details[0].path, Object.keys(more)[0])
    }
  })
})

suite('pages', () => {
  test('show every result once though documents come between them, which moves all scores', async () => {
    const names = Array.from({ length: 6 }, (_, i) => `gull-${i}`)
    // All documents are the same, so any change of scores would show all of them again, or none.
    await world.putIndexed(...names.map((name) => documentOf(name, { title: null, body: 'A black-headed gull.' })))
    const shown: string[] = []
    for (let page = 0, cursor: string | undefined; page === 0 || cursor !== undefined; page++) {
      const found = await world.search({ query: 'gull', limit: 2, ...(cursor === undefined ? {} : { cursor }) })
      shown.push(...world.namesOf(found.results))
      cursor = found.cursor
      const body = page === 0 ? 'Something else altogether.' : 'Gull gull gull.'
      await world.putIndexed(documentOf(`between-${page}`, { title: null, body }))
    }
    assert.deepEqual(shown.filter((name) => names.includes(name)).sort(), names)
  })
})

suite('filters', () => {
  test('datasets, platforms and languages narrow', async () => {
    assert.deepEqual(await sorted('petrel'), ['early', 'forum', 'late'])
    assert.deepEqual(await sorted('petrel', { datasets: [forum] }), ['forum'])
    assert.deepEqual(await sorted('petrel', { datasets: [news, forum] }), ['early', 'forum', 'late'])
    assert.deepEqual(await sorted('petrel', { platforms: ['board'] }), ['forum'])
    assert.deepEqual(await sorted('petrel', { datasets: [forum], platforms: ['rss'] }), [])
    assert.deepEqual(await sorted('petrel', { languages: ['de', 'en'] }), ['early', 'late'])
    assert.deepEqual(await sorted('petrel', { languages: ['la'] }), [])
  })

  test('the window starts at its start and ends before its end', async () => {
    const [first, second] = ['2026-01-01T00:00:00Z', '2026-02-01T00:00:00Z']
    assert.deepEqual(await sorted('petrel', { published_from: first }), ['early', 'late'])
    assert.deepEqual(await sorted('petrel', { published_from: first, published_to: second }), ['early'])
    assert.deepEqual(await sorted('petrel', { published_from: '2026-01-01T00:00:00.001Z' }), ['late'])
    assert.deepEqual(await sorted('petrel', { published_to: second }), ['early'])
    assert.deepEqual(await sorted('petrel', { published_to: '2026-02-01T01:00:00.001+01:00' }), ['early', 'late'])
  })

  test('filters hold in every mode', async () => {
    for (const mode of ['keyword', 'vector', 'hybrid']) {
      assert.deepEqual(await sorted('petrel', { mode, datasets: [forum] }), ['forum'], mode)
      assert.deepEqual(await sorted('petrel', { mode, languages: ['de'], published_from: '2026-01-15T00:00:00Z' }), [
        'late',
      ])
    }
  })
})

suite('what is shown', () => {
  test('`fields` names what is returned beside the IDs, the origin and the score', async () => {
    const always = ['best_chunk_id', 'document_id', 'origin', 'score', 'version_id']
    const scores = ['keyword_score', 'vector_score', 'rerank_score']
    const asked = { query: '+petrel +early' }
    const shown = async (fields: readonly string[], more: object = {}) => {
      const [hit] = (await world.search({ ...asked, ...more, fields })).results
      return Object.keys(hit!).sort()
    }
    for (const mode of ['keyword', 'vector', 'hybrid']) {
      const [whole] = (await world.search({ ...asked, mode })).results
      assert.deepEqual(Object.keys(whole!).sort(), [...always, ...resultNames, 'body', ...scores].sort())
      for (const name of [...resultNames, 'body', ...scores]) {
        assert.deepEqual(await shown([name], { mode }), [...always, name].sort(), `${mode} ${name}`)
      }
    }
    for (const name of always) assert.deepEqual(await shown([name]), always, name)
    assert.deepEqual(await shown(['language', 'url', 'score']), [...always, 'language', 'url'].sort())
    for (const [name, flag] of [
      ['highlights', 'include_highlights'],
      ['matched_chunks', 'include_chunks'],
      ['explanation', 'explain'],
    ] as const) {
      assert.deepEqual(await shown([name]), always, `${name} comes only if ${flag} asks for it`)
      for (const fields of [[name], ['score']]) {
        assert.deepEqual(await shown(fields, { [flag]: true }), [...always, name].sort())
      }
    }
  })

  test('highlights and chunks show text only of the fields that are named', async () => {
    const asked = { query: '+petrel +early', include_highlights: true, include_chunks: true }
    for (const mode of ['keyword', 'vector', 'hybrid']) {
      for (const [fields, highlights, chunk] of [
        [['published_at'], [], undefined],
        [['highlights', 'matched_chunks'], [], undefined],
        [['title', 'highlights'], ['<em>Petrel</em>'], undefined],
        [['body'], ['<em>petrel</em> <em>early</em>'], 'petrel early'],
        [['title', 'body'], ['<em>Petrel</em>', '<em>petrel</em> <em>early</em>'], 'petrel early'],
      ] as const) {
        const { results } = await world.search({ ...asked, mode, fields })
        const hit = results.find((one) => world.namesOf([one])[0] === 'early')!
        assert.deepEqual(hit.highlights, highlights, `${mode} ${fields}`)
        assert.deepEqual(
          hit.matched_chunks!.map(({ body }) => body),
          [chunk],
        )
        const text = JSON.stringify(hit).toLowerCase()
        assert.equal(text.includes('petrel'), highlights.length > 0)
      }
    }
  })

  test('a result has the fields of its document', async () => {
    const [hit] = (await world.search({ query: '+petrel +early' })).results
    const { title, body, language, content_type, published_at } = hit!
    assert.deepEqual(
      { title, body, language, content_type, published_at },
      {
        title: 'Petrel',
        body: 'petrel early',
        language: 'en',
        content_type: 'article',
        published_at: '2026-01-01T00:00:00.000Z',
      },
    )
    const [other] = (await world.search({ query: '+zeppelin +seen' })).results
    assert.deepEqual([other!.title, other!.language, other!.published_at], [null, null, null])
  })

  test('highlights: only when asked for, at most 3, escaped, hits marked as they stand', async () => {
    assert.equal((await world.search({ query: 'fox' })).results[0]!.highlights, undefined)
    const [hit] = (await world.search({ query: 'walrus', include_highlights: true })).results
    const [text] = hit!.highlights!
    assert.match(text!, /<em>walrus<\/em>/)
    assert.doesNotMatch(text!.replaceAll(/<\/?em>/g, ''), /[<>"']/)
    assert.match(text!, /&lt;script&gt;alert\(&quot;/)
    const [bold] = (await world.search({ query: 'bold', include_highlights: true })).results
    assert.deepEqual(bold!.highlights, ['A &lt;b&gt;<em>bold</em>&lt;/b&gt; &quot;claim&quot;'])
    const [many] = (await world.search({ query: '+filler1 filler50 filler90', include_highlights: true })).results
    assert.ok(many!.highlights!.length >= 1 && many!.highlights!.length <= 3)
    const [stem] = (await world.search({ query: 'run', include_highlights: true })).results
    assert.match(stem!.highlights!.join(), /<em>running<\/em>/)
    const [accent] = (await world.search({ query: 'francaise', include_highlights: true })).results
    assert.match(accent!.highlights!.join(), /<em>française<\/em>/)
    const [chinese] = (await world.search({ query: '学习', include_highlights: true })).results
    assert.match(chinese!.highlights!.join(), /<em>学习<\/em>/)
  })

  test('explain: named parts that add up to the score, in every mode; absent unless asked for', async () => {
    const sum = (parts: object = {}) => Object.values(parts).reduce((total: number, part) => total + part, 0)
    const asked = { query: 'lazy +dog "brown fox" ligthouse', include_highlights: true }
    const about = async (more: object) => (await world.search({ ...asked, explain: true, ...more })).results
    for (const mode of ['keyword', 'vector', 'hybrid']) {
      const results = await about({ mode })
      assert.ok(results.length > 0)
      for (const { score, keyword_score, vector_score, explanation } of results) {
        const { keyword, vector, fusion, rerank } = explanation!
        assert.ok(Math.abs(sum(keyword) - (keyword_score ?? 0)) < 1e-9)
        assert.ok(Math.abs(sum(vector) - (vector_score ?? 0)) < 1e-9)
        assert.equal(fusion !== undefined, mode === 'hybrid')
        assert.ok(Math.abs(sum(rerank ?? keyword ?? vector) - score) < 1e-9)
      }
    }
    const [fox] = await about({ typo: 'auto' })
    assert.deepEqual(Object.keys(fox!.explanation!.keyword!), ['lazy', 'dog', '"brown fox"'])
    const [broken] = await about({ query: '"brown\nfox"', mode: 'keyword' })
    assert.deepEqual(Object.keys(broken!.explanation!.keyword!), ['"brown\nfox"'], 'a name with a line break')
    const [tower] = (await world.search({ query: 'ligthouse', typo: 'auto', explain: true })).results
    assert.deepEqual(tower!.explanation, { keyword: { ligthouse: tower!.score } })
    assert.equal(
      (await world.search(asked)).results.some((one) => 'explanation' in one),
      false,
    )
  })

  test('the body is a summary of at most 500 characters around the best match', async () => {
    const [hit] = (await world.search({ query: 'needleword' })).results
    assert.ok(hit!.body!.includes('needleword'))
    assert.ok(hit!.body!.length <= 500)
    const [many] = (await world.search({ query: 'filler7', include_chunks: true })).results
    for (const chunk of many!.matched_chunks!) assert.ok(chunk.body!.length <= 500)
  })

  test('total_chunks of hybrid mode has what was found by meaning alone too', async () => {
    const found = await world.search({ query: 'nowhereword', mode: 'hybrid', include_chunks: true })
    const shown = found.results.flatMap(({ matched_chunks }) => matched_chunks!)
    assert.ok(found.total > 0 && found.total_chunks >= shown.length, `${found.total_chunks} of ${shown.length}`)
  })

  test('matched_chunks: only when asked for, best first, the best chunk first of all', async () => {
    assert.equal((await world.search({ query: 'filler7' })).results[0]!.matched_chunks, undefined)
    for (const mode of ['keyword', 'vector', 'hybrid']) {
      const found = await world.search({ query: 'filler7 filler8', mode, include_chunks: true })
      const hit = found.results.find(({ title }) => title === 'Long')!
      const chunks = hit.matched_chunks!
      assert.ok(chunks.length > 1 && chunks.length <= 5, `${mode} ${chunks.length}`)
      assert.equal(chunks[0]!.chunk_id, hit.best_chunk_id)
      assert.deepEqual(
        chunks.map(({ score }) => score),
        chunks.map(({ score }) => score).sort((a, b) => b - a),
      )
      assert.equal(new Set(chunks.map(({ chunk_id }) => chunk_id)).size, chunks.length)
      for (const chunk of chunks) {
        assert.deepEqual(Object.keys(chunk).sort(), ['body', 'chunk_id', 'chunk_index', 'score'])
        assert.ok(Number.isInteger(chunk.chunk_index) && chunk.chunk_index >= 0)
      }
      assert.ok(found.total_chunks >= chunks.length)
    }
    const narrowed = await world.search({ query: 'filler7', include_chunks: true, fields: ['title'] })
    for (const chunk of narrowed.results[0]!.matched_chunks!) assert.ok(!('body' in chunk))
  })
})

countsSuite(() => world)
