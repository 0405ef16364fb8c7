import assert from 'node:assert/strict'
import { mock, suite, test } from 'node:test'
import fc from 'fast-check'
import { casesOf } from '../../test/support/cases.ts'
import { Cursors, makeSigningKey, type SigningKey, type SigningKeyStore } from './cursors.ts'

/** Signing keys in memory, shared by the "processes" of a test. */
class Keys implements SigningKeyStore {
  keys: SigningKey[] = []
  reads = 0

  async signingKeys(): Promise<readonly SigningKey[]> {
    this.reads++
    return [...this.keys]
  }

  async addSigningKey(key: SigningKey, onlyIfNone: boolean): Promise<readonly SigningKey[]> {
    if (!onlyIfNone || this.keys.length === 0) this.keys.unshift(key)
    return [...this.keys]
  }
}

const binding = ['changes', 'app_1', ['a', 'b'], null]

suite('cursors', () => {
  test('a signed cursor opens again, with its time', async () => {
    const cursors = await Cursors.load(new Keys())
    await fc.assert(
      fc.asyncProperty(fc.jsonValue(), fc.jsonValue(), fc.nat(), async (bound, position, time) => {
        const opened = await cursors.open(cursors.sign(bound, position, time), bound)
        assert.deepEqual(opened, { ok: true, position: JSON.parse(JSON.stringify(position)), issuedAt: time })
      }),
    )
  })

  test('a cursor with another binding is distinguished from a forged one', async () => {
    const cursors = await Cursors.load(new Keys())
    const cursor = cursors.sign(binding, 5)
    for (const other of [['changes', 'app_2', ['a', 'b'], null], ['changes', 'app_1', ['b', 'a'], null], null, []]) {
      assert.deepEqual(await cursors.open(cursor, other), { ok: false, reason: 'other', position: 5 })
    }
    const foreign = (await Cursors.load(new Keys())).sign(binding, 5)
    assert.deepEqual(await cursors.open(foreign, binding), { ok: false, reason: 'invalid' })
  })

  test('every changed, inserted, deleted or swapped character makes a cursor invalid', async () => {
    const cursors = await Cursors.load(new Keys())
    const cursor = cursors.sign(binding, { before: 'doc_1', from: 12, to: null })
    const invalid = { ok: false, reason: 'invalid' }
    let tried = 0
    const refuse = async (altered: string): Promise<void> => {
      if (altered === cursor) return
      tried++
      assert.deepEqual(await cursors.open(altered, binding), invalid, altered)
    }
    for (let i = 0; i <= cursor.length; i++) {
      const [head, tail] = [cursor.slice(0, i), cursor.slice(i)]
      for (let byte = 0; byte < 256; byte++) {
        await refuse(head + String.fromCharCode(byte) + tail.slice(1))
        await refuse(head + String.fromCharCode(byte) + tail)
      }
      await refuse(head)
      await refuse(tail)
      await refuse(head + tail.slice(1))
      for (let j = i + 1; j < cursor.length; j++) {
        await refuse(head + cursor[j]! + cursor.slice(i + 1, j) + cursor[i]! + cursor.slice(j + 1))
      }
    }
    assert.ok(tried > 80_000, `only ${tried}`)
  })

  test('parts of two valid cursors do not make a third', async () => {
    const cursors = await Cursors.load(new Keys())
    const [a, b] = [cursors.sign(binding, 1), cursors.sign(binding, 2)].map((one) => one.split('.'))
    assert.equal((await cursors.open(`${a![0]}.${b![1]}`, binding)).ok, false)
    assert.equal((await cursors.open(`${a!.join('.')}.${b!.join('.')}`, binding)).ok, false)
  })

  test('any other text is invalid, and never throws', async () => {
    const cursors = await Cursors.load(new Keys())
    const text = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 300 }),
      fc
        .jsonValue()
        .map((value) => `${Buffer.from(JSON.stringify(value)).toString('base64url')}.AAAAAAAAAAAAAAAAAAAAAA`),
    )
    await fc.assert(
      fc.asyncProperty(text, async (cursor) => {
        assert.deepEqual(await cursors.open(cursor, binding), { ok: false, reason: 'invalid' })
      }),
      { numRuns: casesOf(2000) },
    )
    assert.equal((await cursors.open('x'.repeat(10_000_000), binding)).ok, false)
  })

  test('after a rotation the new key signs, the old one still verifies, and other processes are up to date', async () => {
    mock.timers.enable({ apis: ['Date'], now: 1_000_000 })
    try {
      const keys = new Keys()
      const [first, second] = [await Cursors.load(keys), await Cursors.load(keys)]
      const old = first.sign(binding, 1)
      await keys.addSigningKey(makeSigningKey(Date.now()), false)
      const fresh = (await Cursors.load(keys)).sign(binding, 2)
      assert.notEqual(keyOf(fresh), keyOf(old))
      // At once, because an unknown key is looked up.
      for (const one of [first, second]) {
        assert.deepEqual(await one.open(fresh, binding), { ok: true, position: 2, issuedAt: 1_000_000 })
        assert.deepEqual(await one.open(old, binding), { ok: true, position: 1, issuedAt: 1_000_000 })
        assert.equal(keyOf(one.sign(binding, 3)), keyOf(fresh))
      }
      // Within a second, even if no such cursor arrives.
      await keys.addSigningKey(makeSigningKey(Date.now()), false)
      mock.timers.tick(1000)
      first.sign(binding, 4)
      await new Promise((resolve) => setImmediate(resolve))
      assert.equal(keyOf(first.sign(binding, 4)), keyOf((await Cursors.load(keys)).sign(binding, 4)))
    } finally {
      mock.timers.reset()
    }
  })

  test('cursors of a deleted key are invalid after a second', async () => {
    mock.timers.enable({ apis: ['Date'], now: 1_000_000 })
    try {
      const keys = new Keys()
      const cursors = await Cursors.load(keys)
      const cursor = cursors.sign(binding, 1)
      keys.keys = [makeSigningKey(Date.now())]
      assert.equal((await cursors.open(cursor, binding)).ok, true)
      mock.timers.tick(1000)
      assert.equal((await cursors.open(cursor, binding)).ok, false)
    } finally {
      mock.timers.reset()
    }
  })

  test('many forged cursors at once share their reads of the store', async () => {
    const keys = new Keys()
    const cursors = await Cursors.load(keys)
    const forged = (await Cursors.load(new Keys())).sign(binding, 1)
    await Promise.all(Array.from({ length: 100 }, () => cursors.open(forged, binding)))
    assert.ok(keys.reads <= 3, `${keys.reads} reads`)
  })
})

const keyOf = (cursor: string): string => JSON.parse(Buffer.from(cursor.split('.')[0]!, 'base64url').toString())[0]
