import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { Tokenizer } from '@huggingface/tokenizers'
import fc from 'fast-check'
import { casesOf } from '../../test/support/cases.ts'
import { builtInModels } from './built-in-models.ts'
import { UnigramTokenizer } from './unigram-tokenizer.ts'

const { directory, files } = builtInModels.multilingualE5Small
const read = (name: string) => JSON.parse(readFileSync(new URL(name, directory), 'utf8'))
const vocabulary = read(files.vocabulary.name)
const reference = new Tokenizer(vocabulary, read(files['tokenizer settings'].name))
const own = new UnigramTokenizer(vocabulary)

test('splits texts as the library does, in any language', () => {
  const known = [
    '',
    '   ',
    'query: Wie hoch ist der Leitzins?',
    'passage: 灯塔在风暴之后由志愿者修复。',
    'من رمم المنارة بعد العاصفة؟',
    'เรือเฟอร์รี่ถูกยกเลิก',
    'Antidisestablishmentarianism, e.g. 3.14159 × 10⁻⁷ ½ ﬁne ～ ~ \u00a0 nbsp',
    'naïve café e\u0301 Ⅳ ㍿ 🌊🌊 👩‍👩‍👧 \ud800 x',
    '\u2581 ▁word ▁▁ two\tthree\nfour\u0007five',
    'x'.repeat(300),
    '中'.repeat(300),
    '𓀀𓀁𓀂 unknown 𓀃',
  ]
  const word = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 12 }),
    fc.string({ unit: 'grapheme', maxLength: 12 }),
    fc.constantFrom(...vocabulary.model.vocab.slice(10, 60_000).map(([piece]: [string]) => piece)),
  )
  const text = fc.array(word, { maxLength: 12 }).map((words) => words.join(' '))
  const isPlain = (one: string): boolean => !/<(s|\/s|pad|unk|mask)>/.test(one)
  fc.assert(
    fc.property(text.filter(isPlain), (one) => {
      // Encodes twice: the second time its words are cached.
      for (let i = 0; i < 2; i++) assert.deepEqual([0, ...own.encode(one), 2], reference.encode(one).ids)
    }),
    { numRuns: casesOf(300, 60), examples: known.map((one) => [one]) },
  )
})

test('the names of special tokens are words like others', () => {
  for (const id of own.encode('a <s> b </s> <mask> <pad><unk>')) assert.ok(id > 3 && id < 250_000, `${id}`)
})
