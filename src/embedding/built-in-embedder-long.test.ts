import assert from 'node:assert/strict'
import type { ChildProcess } from 'node:child_process'
import { execFile } from 'node:child_process'
import { getEventListeners, once } from 'node:events'
import { appendFile, copyFile, mkdtemp, readdir, rm } from 'node:fs/promises'
import { getPriority, tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { fileURLToPath, pathToFileURL } from 'node:url'
import fc from 'fast-check'
import { leftInHome } from '../../test/support/empty-home.ts'
import { PoolEvents } from '../../test/support/pool-events.ts'
import { Callers } from '../fair-queue/callers.ts'
import { BuiltInEmbedder, startModelProcess } from './built-in-embedder.ts'
import { builtInModels } from './built-in-models.ts'
import type { EmbeddingErrorCode } from './embedding-error.ts'
import { EmbeddingError } from './embedding-error.ts'

const english = builtInModels.bgeSmallEn
const embedder = new BuiltInEmbedder(english)
const multilingual = new BuiltInEmbedder(builtInModels.multilingualE5Small)
after(() => Promise.all([embedder.close(), multilingual.close()]))

function fails(code: EmbeddingErrorCode, part = '') {
  return (error: unknown): boolean => {
    assert.ok(error instanceof EmbeddingError, String(error))
    assert.equal(error.code, code, error.message)
    assert.ok(error.message.includes(part), error.message)
    return true
  }
}

const dot = (a: Float32Array, b: Float32Array): number => a.reduce((sum, value, i) => sum + value * b[i]!, 0)

async function one(text: string, kind: 'query' | 'passage' = 'passage'): Promise<Float32Array> {
  return (await embedder.embed([text], kind))[0]!
}

const long = 'the committee discussed the budget for the coming year '.repeat(60)

/** An embedder whose process the test can reach, and the process that it started last. */
function reachable(options: ConstructorParameters<typeof BuiltInEmbedder>[1] = {}) {
  const processes: ChildProcess[] = []
  const startProcess: typeof startModelProcess = (...started) => {
    processes.push(startModelProcess(...started))
    return processes.at(-1)!
  }
  return { embedder: new BuiltInEmbedder(english, { startProcess, ...options }), processes }
}

test('the runtime leaves no files on this machine, so it has no telemetry to send', async () => {
  const { embedder } = reachable()
  const left = await leftInHome(() => embedder.embed(['Felines rest for most of the day.'], 'query'))
  await embedder.close()
  assert.deepEqual(left, [])
})

test('ranks passages by their meaning, not by shared words', async () => {
  const passages = [
    'Felines rest for most of the day.',
    'The central bank raised interest rates by a quarter point.',
    'A new species of frog was found in the rainforest.',
    'The day most banks rest is Sunday.',
  ]
  const vectors = await embedder.embed(passages, 'passage')
  const best = async (query: string): Promise<number> => {
    const [vector] = await embedder.embed([query], 'query')
    const scores = vectors.map((passage) => dot(vector!, passage))
    return scores.indexOf(Math.max(...scores))
  }
  assert.equal(await best('how long do cats sleep'), 0)
  assert.equal(await best('monetary policy tightening'), 1)
  assert.equal(await best('discovery of an amphibian'), 2)
})

test('the multilingual model finds a text by a question in another language', async () => {
  const passages = [
    '灯塔在风暴之后由志愿者修复。',
    'The lighthouse was restored by volunteers after the storm had damaged its tower and its lamp.',
    'Die Zentralbank hob den Leitzins um einen Viertelpunkt an, um die Inflation zu dämpfen.',
    'The central bank raised interest rates.',
    'El equipo ganó la final del campeonato en la prórroga.',
    'Ferries between the islands were cancelled for the third day.',
  ]
  const vectors = await multilingual.embed(passages, 'passage')
  const ranked = async (query: string): Promise<number[]> => {
    const [vector] = await multilingual.embed([query], 'query')
    const scores = vectors.map((passage) => dot(vector!, passage))
    return scores.map((_, i) => i).sort((a, b) => scores[b]! - scores[a]!)
  }
  const bestTwo = async (query: string): Promise<number[]> => (await ranked(query)).slice(0, 2).sort()
  assert.deepEqual(await bestTwo('志愿者如何修复被风暴损坏的灯塔'), [0, 1])
  assert.deepEqual(await bestTwo('Who repaired the lighthouse?'), [0, 1])
  assert.deepEqual(await bestTwo('Wie hoch ist der Leitzins?'), [2, 3])
})

test('every built-in model: vectors of length 1, of its dimensions, at any length of text', async () => {
  for (const [model, one] of [
    [english, embedder],
    [builtInModels.multilingualE5Small, multilingual],
  ] as const) {
    assert.equal(one.profileId, model.id)
    for (const vector of await one.embed(['', 'a word', '中'.repeat(3_000), long], 'passage')) {
      assert.equal(vector.length, model.dimensions)
      assert.ok(Math.abs(Math.hypot(...vector) - 1) < 1e-5)
    }
  }
})

test('a text has one vector, bit for bit, whatever comes with it', async () => {
  const texts = ['a short text', long, 'another', `${long} and more`, 'a short text', '']
  const together = await embedder.embed(texts, 'passage')
  for (const [index, text] of texts.entries()) assert.deepEqual(together[index], await one(text))
})

test('short passages go to the process together, and each has the vector that it has alone', async (t) => {
  const { embedder: one, processes } = reachable()
  t.after(() => one.close())
  await one.embed(['a'], 'query')
  let answers = 0
  processes[0]!.on('message', () => answers++)
  const texts = Array.from({ length: 16 }, (_, i) => `harbour number ${i} ${'by the sea '.repeat(i % 5)}`)
  const together = await one.embed(texts, 'passage')
  assert.equal(answers, 2)
  for (const [i, text] of texts.entries()) assert.deepEqual((await one.embed([text], 'passage'))[0], together[i])
})

test('a fixed text has its known vector, so a runtime or tokenizer that changes vectors is noticed', async () => {
  const vector = await one('Tidemark keeps what was collected.')
  const expected = [-0.0312, 0.0113, -0.0115, -0.0411, 0.0785, -0.0118, 0.0562, -0.0284]
  for (const [index, value] of expected.entries()) assert.ok(Math.abs(vector[index]! - value) < 0.02, `${vector}`)
})

test('a query is embedded with the prefix of the model, a passage is not', async () => {
  const query = await one('interest rates', 'query')
  assert.deepEqual(query, await one(`${english.prefixes.query}interest rates`))
  assert.notDeepEqual(query, await one('interest rates'))
})

test('reads 512 tokens and no more', async () => {
  const words = (count: number): string => Array(count).fill('word').join(' ')
  const full = await one(words(510))
  assert.deepEqual(await one(words(20_000)), full)
  assert.notDeepEqual(await one(words(509)), full)
})

test('any text gets a vector of length 1', async () => {
  const odd = ['', ' ', '\0', '\ud800', '[CLS] [SEP] [PAD] [MASK]', 'x'.repeat(100_000), '中'.repeat(100_000)]
  const text = fc.oneof(fc.string({ unit: 'binary', maxLength: 60 }), fc.constantFrom(...odd))
  await fc.assert(
    fc.asyncProperty(fc.array(text, { maxLength: 4 }), fc.constantFrom('query', 'passage'), async (texts, kind) => {
      const vectors = await embedder.embed(texts, kind)
      assert.equal(vectors.length, texts.length)
      for (const vector of vectors) {
        assert.equal(vector.length, 384)
        assert.ok(Math.abs(Math.hypot(...vector) - 1) < 1e-5)
      }
    }),
    { numRuns: 40, examples: odd.map((example) => [[example], 'passage']) },
  )
})

test('a query goes ahead of passages that wait', async () => {
  let passagesDone = false
  const passages = embedder.embed(Array(5).fill(long), 'passage').then(() => {
    passagesDone = true
  })
  await one('a question', 'query')
  assert.equal(passagesDone, false)
  await passages
})

test('a query goes ahead of queries that wait for another caller, and so does a waiting query that its caller joins', async (t) => {
  const { embedder: one } = reachable()
  t.after(() => one.close())
  const ended: string[] = []
  const ask = async (name: string, callers: Callers): Promise<void> => {
    await one.embed([`${name} ${long}`.slice(0, 1000)], 'query', undefined, callers)
    ended.push(name)
  }
  for (const asksFor of ['own', 'shared', 'own', 'shared']) {
    const shared = new Callers('crowd')
    const crowd = Array.from({ length: 9 }, (_, i) => ask(`crowd ${i}`, new Callers('crowd')))
    crowd.push(ask('shared', shared))
    await crowd[0]
    const before = ended.length
    if (asksFor === 'shared') shared.join('single')
    const query = asksFor === 'shared' ? crowd.at(-1)! : ask('single', new Callers('single'))
    await query
    // The text in progress, and a few more while the second process starts. In order of arrival it would be the last.
    assert.ok(ended.length - before <= 7, ended.slice(before).join(', '))
    await Promise.all(crowd)
  }
})

test('while one caller is served, a second process serves another one, and ends when it is idle', async (t) => {
  const events = new PoolEvents()
  const { embedder: one, processes } = reachable({ watch: events, idleTimeoutMs: 1 })
  t.after(() => one.close())
  await one.embed(['a'], 'query')
  assert.equal(processes.length, 1)
  processes[0]!.kill('SIGSTOP')
  const held = one.embed(['b'], 'query', undefined, new Callers('crowd'))
  assert.equal((await one.embed(['c'], 'query', undefined, new Callers('single'))).length, 1)
  await events.serving('model', 1)
  processes[0]!.kill('SIGCONT')
  assert.equal((await held).length, 1)
  assert.deepEqual([processes.length, events.exits.length], [2, 0])
  assert.deepEqual(await one.embed(['c'], 'query'), await embedder.embed(['c'], 'query'))
})

test('while passages run, queries have a process of their own with a higher priority', async (t) => {
  const events = new PoolEvents()
  const { embedder: one, processes } = reachable({ watch: events })
  t.after(() => one.close())
  const stop = new AbortController()
  const passages = assert.rejects(one.embed(Array(500).fill(long), 'passage', stop.signal), fails('aborted'))
  // Until there is another process, the query waits for a passage, not for a start.
  assert.equal((await one.embed(['first'], 'query')).length, 1)
  await events.serving('model', 2)
  // Only the second process can answer now.
  processes[0]!.kill('SIGSTOP')
  assert.equal((await one.embed(['second'], 'query')).length, 1)
  const own = getPriority()
  assert.deepEqual(
    processes.map(({ pid }) => getPriority(pid)),
    [Math.max(own, 10), Math.max(own, 5)],
  )
  processes[0]!.kill('SIGCONT')
  stop.abort()
  await passages
})

test('the main thread stays free', async () => {
  const before = performance.eventLoopUtilization()
  await embedder.embed(Array(4).fill(long), 'passage')
  const { utilization } = performance.eventLoopUtilization(before)
  assert.ok(utilization < 0.5, `${utilization}`)
})

test('cancelling rejects at once, stops the work and leaves nothing behind', async () => {
  const controller = new AbortController()
  const cancelled = embedder.embed(Array(500).fill(long), 'passage', controller.signal)
  await one('running', 'query')
  const startedMs = performance.now()
  controller.abort()
  await assert.rejects(cancelled, fails('aborted'))
  assert.equal(getEventListeners(controller.signal, 'abort').length, 0)
  // 500 such texts take about a minute on a quiet machine (2026-11).
  await one('next')
  assert.ok(performance.now() - startedMs < 30_000)
  await assert.rejects(embedder.embed(['a'], 'query', controller.signal), fails('aborted'))
})

test('refuses passages beyond its queue and still takes queries; refuses those of one caller, not of another', async () => {
  const { embedder: small } = reachable({ waitingTextsMax: 10 })
  const first = small.embed(Array(12).fill('text'), 'passage')
  await assert.rejects(small.embed(['text'], 'passage'), fails('overloaded'))
  assert.equal((await small.embed(['text'], 'query')).length, 1)
  await first
  assert.equal((await small.embed(['text'], 'passage')).length, 1)
  const crowd = Array.from({ length: 10 }, () => small.embed(['text'], 'query', undefined, new Callers('crowd')))
  await assert.rejects(small.embed(['text'], 'query', undefined, new Callers('crowd')), fails('overloaded'))
  assert.equal((await small.embed(['text'], 'query', undefined, new Callers('single'))).length, 1)
  await Promise.all(crowd)
  await small.close()
})

test('a process that exits fails its calls and is started again; one that keeps exiting is paused', async () => {
  const { embedder: fragile, processes } = reachable({ restMs: 60_000, processes: 1 })
  await fragile.embed(['a'], 'query')
  const call = fragile.embed(Array(50).fill(long), 'passage')
  processes[0]!.kill('SIGKILL')
  await assert.rejects(call, (error) => fails('unavailable')(error) && (error as EmbeddingError).retryable)
  assert.equal((await fragile.embed(['a'], 'query')).length, 1)
  assert.equal(processes.length, 2)

  for (const index of [1, 2]) {
    const lost = fragile.embed([long], 'passage')
    processes[index]!.kill('SIGKILL')
    await assert.rejects(lost, fails('unavailable'))
  }
  await assert.rejects(fragile.embed(['a'], 'query'), fails('unavailable'))
  assert.equal(processes.length, 3)
  await fragile.close()
})

test('a process that hangs is killed and started again; a long run that makes progress is not', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] })
  const silenceMaxMs = 60_000
  const { embedder: slow, processes } = reachable({ silenceMaxMs })
  t.after(() => slow.close())
  await slow.embed(['a'], 'query')
  let runs = 0
  // Each text takes half of the limit. They are too long to share a run, so one call takes four times the limit.
  processes[0]!.prependListener('message', () => {
    if (++runs > 1) t.mock.timers.tick(silenceMaxMs / 2)
  })
  assert.equal((await slow.embed(Array(8).fill('text '.repeat(120)), 'passage')).length, 8)
  assert.ok(runs >= 8)
  processes[0]!.kill('SIGSTOP')
  const hanging = slow.embed(['a'], 'query')
  t.mock.timers.tick(2 * silenceMaxMs)
  await assert.rejects(hanging, (error) => fails('unavailable')(error) && (error as EmbeddingError).retryable)
  assert.equal((await slow.embed(['a'], 'query')).length, 1)
  assert.equal(processes.length, 2)
})

test('a damaged or missing file is named by its role, and a repaired one is noticed', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'tidemark-model-'))
  t.after(() => rm(folder, { recursive: true }))
  const directory = pathToFileURL(`${folder}/`)
  const copy = (name: string): Promise<void> =>
    copyFile(fileURLToPath(new URL(name, english.directory)), join(folder, name))
  const { embedder: damaged, processes } = reachable({ directory, restMaxMs: 0 })
  t.after(() => damaged.close())

  await assert.rejects(damaged.embed(['a'], 'query'), fails('damaged_model', 'vocabulary'))
  await copy('tokenizer.json')
  await copy('tokenizer_config.json')
  await copy('graph.onnx')
  await copy('model_quantized.onnx')
  await appendFile(join(folder, 'model_quantized.onnx'), 'x')
  await assert.rejects(damaged.embed(['a'], 'query'), (error) => {
    assert.ok(!(error as Error).message.includes(folder))
    return fails('damaged_model', 'weights')(error)
  })
  await copy('model_quantized.onnx')
  assert.equal((await damaged.embed(['a'], 'query')).length, 1)
  assert.equal(processes.length, 3)
})

test('compiled code is cached for the next process, although the process is killed', async (t) => {
  const cache = await mkdtemp(join(tmpdir(), 'tidemark-compiled-'))
  const startProcess: typeof startModelProcess = (...started) => {
    const { NODE_COMPILE_CACHE: before = '' } = process.env
    process.env.NODE_COMPILE_CACHE = cache
    try {
      return startModelProcess(...started)
    } finally {
      process.env.NODE_COMPILE_CACHE = before
    }
  }
  const own = new BuiltInEmbedder(english, { startProcess })
  t.after(async () => {
    await own.close()
    await rm(cache, { recursive: true })
  })
  await own.embed(['a text'], 'query')
  assert.ok((await readdir(cache, { recursive: true })).length > 10)
})

test('closing fails waiting calls, ends the process, and is final', async () => {
  const { embedder: closing, processes } = reachable()
  const call = closing.embed([long], 'passage')
  await Promise.all([assert.rejects(call, fails('closed')), closing.close()])
  assert.notEqual(processes[0]!.signalCode, null)
  await assert.rejects(closing.embed(['a'], 'query'), fails('closed'))
  await closing.close()
})

test('an idle model keeps no process alive, a busy one does not disturb an exit, and neither outlives its parent', async () => {
  const module = new URL('./built-in-embedder.ts', import.meta.url).href
  const start = `
    import { BuiltInEmbedder } from '${module}'
    import { builtInModels } from '${new URL('./built-in-models.ts', import.meta.url).href}'
    const embedder = new BuiltInEmbedder(builtInModels.bgeSmallEn)
    await embedder.embed(['a'], 'query')`
  const busy = `
    embedder.embed(Array(9).fill('a text '.repeat(400)), 'passage').catch(() => {})
    embedder.embed(['a'], 'query').then(() => process.exit(3))`
  for (const [program, code] of [
    [start, 0],
    [start + busy, 3],
  ] as const) {
    const parent = execFile(process.execPath, ['--input-type=module', '-e', program])
    // The model shares its parent's stderr, so it closes when both have ended.
    const [exitCode] = await once(parent, 'close')
    assert.equal(exitCode, code)
  }
})
