import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { analyse, analyseLocated } from './analyse.ts'
import { arbitraryLanguage, arbitraryText } from './arbitrary-text.ts'
import { CharClass, charClassOf } from './char-class.ts'
import { foldAccents, normaliseWord } from './fold-word.ts'

/** Terms in the order of the text, with those of one position joined by a bar. */
function termsOf(text: string, language: string | null): string {
  const { terms, positions } = analyse(text, language)
  const byPosition: string[] = []
  for (const [index, term] of terms.entries()) {
    const position = positions[index]!
    byPosition[position] = byPosition[position] === undefined ? term : `${byPosition[position]}|${term}`
  }
  return byPosition.join(' ')
}

test('words are folded and stemmed by the language', () => {
  assert.equal(termsOf('The Dogs were RUNNING', 'en'), 'the =dogs|dog were =running|run')
  assert.equal(termsOf('Die Häuser der Straße', 'de-AT'), 'die =hauser|haus der =strasse|strass')
  assert.equal(termsOf('Собаками ёлки', 'ru'), '=собаками|собак =елки|елк')
  assert.equal(termsOf('والكتاب الكتاب', 'ar'), '=والكتاب|كتاب =الكتاب|كتاب')
  assert.equal(termsOf("the team's U.S. 1,000", 'en'), 'the team us 1000')
})

test('an accented word is found without its accents', () => {
  assert.equal(termsOf('résumé', 'en'), 'resume|resum')
  assert.equal(termsOf('resume', 'en'), '=resume|resum')
})

test('the first term of a position is the word itself, marked if no query searches for it', () => {
  const isPaired = (text: string) => {
    const charClass = charClassOf(text.codePointAt(0)!)
    return charClass >= CharClass.han && charClass <= CharClass.hangul
  }
  fc.assert(
    fc.property(arbitraryText, arbitraryLanguage, (text, language) => {
      const { terms, positions, starts, ends } = analyseLocated(text, language)
      for (const [i, term] of terms.entries()) {
        const isFirst = positions[i] !== positions[i - 1]
        assert.ok(isFirst || !term.startsWith('='), term)
        const word = text.slice(starts[i], ends[i])
        // A longer word is cut.
        if (!isFirst || word.length > 64) continue
        const own = term.replace(/^=/, '')
        // Han, kana and Hangul have no accents to remove, and are normalised character by character.
        if (isPaired(word)) assert.equal(normaliseWord(own), normaliseWord(word))
        else assert.equal(own, foldAccents(normaliseWord(word)))
      }
    }),
    {
      examples: [
        ['\u3400\ua66f\ua9b6', null],
        ['\u309f', null],
        ['\ub6d4\uffa5', null],
      ],
    },
  )
})

test('marks that are letters stay', () => {
  assert.equal(termsOf('йод', 'ru'), 'йод')
  assert.equal(termsOf('น้ำ', 'th'), 'น้ํา')
  assert.equal(termsOf('が', 'ja'), 'が')
})

test('Chinese, Japanese, Korean and Thai are split without blanks', () => {
  assert.equal(termsOf('机器学习', 'zh'), '机|机器 器|器学 学|学习|习')
  assert.equal(termsOf('猫', 'zh'), '猫')
  assert.equal(termsOf('食べる', 'ja'), '食|食べ べる|る')
  assert.equal(termsOf('한국어를 물을', 'ko'), '한국|한* 국어 어를 물을|물')
  assert.equal(termsOf('한국'.normalize('NFD'), 'ko'), termsOf('한국', 'ko'))
  assert.equal(termsOf('ภาษาไทย', 'th'), 'ภาษา ไทย')
})

test('a word in a language without a stemmer is also indexed by its first letters', () => {
  assert.equal(termsOf('listopadowych dni', 'pl'), 'listopadowych|listop* dni')
  assert.equal(termsOf('kisiwa kisiwani kisiw', 'sw'), 'kisiwa|kisiwa* kisiwani|kisiwa* kisiw')
})

test('an Arabic noun is found with and without its article, however short it is', () => {
  const nouns = 'كتاب مدينة سنة لغة كرة آلة إنسان أرض حكومة بحر وطن لبن ابن شمس ألمانية'.split(' ')
  const searchableTerms = (word: string) => analyse(word, 'ar').terms.filter((term) => !term.startsWith('='))
  for (const noun of nouns) {
    for (const article of ['ال', 'وال', 'فال', 'بال', 'كال', ...(noun.startsWith('ل') ? [] : ['لل'])]) {
      const shared = searchableTerms(article + noun).filter((term) => searchableTerms(noun).includes(term))
      assert.notDeepEqual(shared, [], article + noun)
    }
  }
  assert.equal(termsOf('الفن الله', 'ar'), '=الفن|فن الله')
})

test('a word in another script is stemmed as the usual language of that script', () => {
  assert.equal(termsOf('使用windows', 'zh'), '使|使用|用 =windows|window')
  assert.equal(termsOf('собаками', 'en'), '=собаками|собак')
})

test('an unknown language is guessed', () => {
  assert.equal(termsOf('Die Häuser sind nicht in der Nähe', null).split(' ')[1], '=hauser|haus')
})

test('stop words take a position but do not count for length', () => {
  const { positions, length } = analyse('the dog of the house', 'en')
  assert.deepEqual(positions, [0, 1, 2, 3, 4, 4])
  assert.equal(length, 2)
})

test('offsets give the position in the text', () => {
  const text = 'Ein „Fischglas“-artiger Helm'
  const { starts, ends } = analyseLocated(text, 'de')
  assert.deepEqual(
    starts.map((start, index) => text.slice(start, ends[index])),
    ['Ein', 'Fischglas', 'artiger', 'artiger', 'Helm'],
  )
})

test('a very long word is cut, alike in documents and queries', () => {
  assert.deepEqual(analyse('a'.repeat(1_000_000), 'zh').terms, analyse('a'.repeat(999), 'zh').terms)
})

test('any text gives well-formed fields', () => {
  fc.assert(
    fc.property(arbitraryText, arbitraryLanguage, (text, language) => {
      const plain = analyse(text, language)
      const { starts, ends, ...located } = analyseLocated(text, language)
      assert.deepEqual(located, plain)
      assert.equal(plain.positions.length, plain.terms.length)
      assert.ok(plain.length <= (plain.positions.at(-1) ?? -1) + 1)
      for (const [index, term] of plain.terms.entries()) {
        assert.ok(term.length > 0 && term.length <= 1200)
        assert.ok(starts[index]! < ends[index]! && ends[index]! <= text.length)
        const step = plain.positions[index]! - (plain.positions[index - 1] ?? -1)
        assert.ok(step === 0 || step === 1)
      }
    }),
  )
})

test('a text without its accents shares a term with the text at every word', () => {
  const word = fc.string({ unit: fc.constantFrom(...'aeioubcdlnrstäéíñöüçşğâîșțåøæœ'), minLength: 1, maxLength: 14 })
  fc.assert(
    fc.property(word, fc.constantFrom('en', 'de', 'es', 'fr', 'tr', 'ro', 'sv', 'pl', 'hu'), (accented, language) => {
      const bare = foldAccents(normaliseWord(accented))
      const terms = new Set(analyse(accented, language).terms)
      assert.ok(
        analyse(bare, language).terms.some((term) => terms.has(term)),
        `${accented} ${bare}`,
      )
    }),
  )
})

test('hostile texts take time in proportion to their length', () => {
  const units = [
    'a',
    '\u0301',
    'a\u0301',
    '\ud800',
    '1.',
    "a'",
    'a.',
    'п’',
    '机',
    'ก',
    '机\u{e0100}',
    '👩‍👩‍👧',
    '\u200b',
    'ﷺ',
  ]
  for (const unit of units) {
    const text = unit.repeat(Math.floor(300_000 / unit.length))
    const startedAt = performance.now()
    analyse(text, null)
    assert.ok(performance.now() - startedAt < 60_000, JSON.stringify(unit))
  }
})
