import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { analyse } from './analyse.ts'
import { arbitraryLanguage, arbitraryText } from './arbitrary-text.ts'
import { parseQuery } from './parse-query.ts'
import type { Clause } from './types.ts'

const SIGNS = { any: '', must: '+', mustNot: '-' } as const

function show(clauses: readonly Clause[]): string {
  return clauses
    .map((clause) => {
      const groups = clause.type === 'word' ? [clause.group] : clause.groups
      const terms = groups.map((group) => group.join('|')).join(' ')
      const weight = clause.weight === 1 ? '' : `^${clause.weight}`
      return `${SIGNS[clause.kind]}${clause.type === 'word' ? terms : `"${terms}"`}${weight}`
    })
    .join(' ')
}

function clausesOf(text: string, languages: string[] | null = ['en']): string {
  return show(parseQuery(text, languages).clauses)
}

test('bare, required and excluded words, and phrases', () => {
  assert.equal(clausesOf('running dogs'), 'run dog')
  assert.equal(clausesOf('+running -dogs "lazy foxes"'), '+run -dog "lazi fox"')
  assert.equal(clausesOf('+"lazy foxes" -"quick cats"'), '+"lazi fox" -"quick cat"')
  assert.equal(clausesOf('“lazy foxes” „quick cats“'), '"lazi fox" "quick cat"')
  assert.equal(clausesOf('"fox"'), 'fox')
})

test('the last word may be a prefix, unless it is quoted or excluded', () => {
  const prefixes = (text: string) =>
    parseQuery(text, ['en'], { lastIsPrefix: true }).clauses.flatMap((clause) =>
      clause.type === 'word' ? (clause.expansions ?? []).map((match) => [clause.typed, match]) : [],
    )
  const begins = (prefix: string) => ({ prefix, factor: 0.5 })
  assert.deepEqual(prefixes('Tidal Pow'), [['Pow', begins('pow')]])
  assert.deepEqual(prefixes('history of the'), [['the', begins('the')]])
  assert.deepEqual(prefixes('tidal +Pów'), [['Pów', begins('pow')]])
  assert.deepEqual(prefixes('power-st'), [['st', begins('st')]])
  assert.deepEqual(prefixes('a "tidal pow'), [['pow', begins('pow')]])
  for (const text of ['"tidal pow"', 'tidal -pow', 'tidal +power-st', '', '!']) assert.deepEqual(prefixes(text), [])
  assert.deepEqual(
    parseQuery('tidal pow', ['en']).clauses.map((clause) => 'expansions' in clause),
    [false, false],
  )
})

test('a single kana is the prefix of a pair if the query has nothing else', () => {
  const expansionsOf = (text: string) =>
    parseQuery(text, null).clauses.map((clause) => clause.type === 'word' && clause.expansions)
  for (const text of ['ね', ' ﾈ', 'ネ']) assert.equal(expansionsOf(text).flat().length, 1, text)
  for (const text of ['ねこ', 'ね 猫', '猫', 'の の', '민', '!'])
    assert.deepEqual(expansionsOf(text).filter(Boolean), [], text)
})

test('bare and required words may have typing errors; quoted and excluded ones, and those with digits, may not', () => {
  const correctable = (text: string) =>
    parseQuery(text, ['en']).clauses.flatMap((clause) => (clause.type === 'word' ? (clause.correctable ?? []) : []))
  assert.deepEqual(correctable('Lighthouses +Crème'), ['lighthouses', 'creme'])
  assert.deepEqual(correctable('"light" -house a380 机器学习 "tidal power"'), [])
})

test('text without syntax is words', () => {
  assert.equal(clausesOf('well-known C++ - --'), 'well known c')
  assert.equal(clausesOf('"unbalanced phrase'), 'unbalanc phrase')
  assert.equal(clausesOf('5" screen 6" wide'), '5 screen 6 wide')
  assert.equal(clausesOf('„Model C“-Schulen', ['de']), '"model c" schul')
  assert.equal(clausesOf('+ "" +"" !!!'), '')
})

test('a minus sign excludes only before a letter or a quote, because numbers in pasted text have one too', () => {
  assert.equal(clausesOf('temperature -5 turbine'), 'temperatur 5 turbin')
  for (const text of ['-5', '－5', '-5°C', '-٥', '-3D', '--dogs', '-.5', '-(dogs)', '-$20', '-+dogs', "-'dogs'"]) {
    assert.equal(clausesOf(text).includes('-'), false, text)
    assert.equal(clausesOf(text), clausesOf(text.replaceAll(/[-－+]/g, ' ')), text)
  }
  assert.equal(clausesOf('-dogs5'), '-dogs5')
  assert.equal(clausesOf('-élan'), '-elan')
  assert.equal(clausesOf('-𝐝ogs'), '-dogs')
  assert.equal(clausesOf('-猫'), '-猫')
  assert.equal(clausesOf('-"5 dogs" -“6 cats”'), '-"5 dog" -"6 cat"')
  assert.equal(clausesOf('+5'), '+5')
})

test('a signed word that is split is a phrase', () => {
  assert.equal(clausesOf('+well-known'), '+"well known"')
  assert.equal(clausesOf('-机器学习'), '-"机器 器学 学习"')
})

test('a query of excluded words alone has nothing to match', () => {
  assert.equal(clausesOf('-dogs'), '-dog')
  assert.equal(clausesOf('-dogs the'), '-dog the')
})

test('stop words are dropped, unless they are required, quoted, or the only words', () => {
  assert.equal(clausesOf('the dogs of war'), 'dog war')
  assert.equal(clausesOf('to be or not to be'), 'to^2 be^2 or not')
  assert.equal(clausesOf('+the dogs'), '+the dog')
  assert.equal(clausesOf('"the who"'), '"the who"')
  assert.equal(clausesOf('die hard', ['de', 'en']), 'die hard')
  assert.equal(clausesOf('die Hunde', ['de']), 'hund')
})

test('a run of Chinese becomes its bigrams', () => {
  assert.equal(clausesOf('机器学习 猫', null), '机器 器学 学习 猫')
  assert.equal(clausesOf('我的"机器学习"', null), '我的 "机器 器学 学习"')
})

test('a repeated word has twice the weight', () => {
  assert.equal(clausesOf('data data base'), 'data^2 base')
})

test('each requested language adds its stem', () => {
  assert.equal(clausesOf('Panthers', ['en', 'de']), 'panther|panth')
  assert.equal(clausesOf('Wie viele Häuser waren das', null), 'haus')
  assert.match(clausesOf('häuser', null), /hauser.*haus|haus.*hauser/u)
  assert.equal(clausesOf('windows', ['zh']), 'window')
  assert.equal(clausesOf('dogs', ['', '??']), clausesOf('dogs', null))
})

test('the first letters of a word find it but do not exclude it', () => {
  assert.equal(clausesOf('listopadowych', ['pl']), 'listopadowych|listop*')
  assert.equal(clausesOf('-listopadowych', ['pl']), '-listopadowych')
})

test('neighbouring words and the words of a phrase are boosts', () => {
  const { clauses, boosts } = parseQuery('heat transfer of "boundary layers"', ['en'])
  assert.equal(show(clauses), 'heat transfer "boundari layer"')
  assert.equal(show(boosts), '"heat transfer"^0.3 boundari layer')
  assert.deepEqual(parseQuery('"boundary layers"', ['en']).boosts, [])
})

test('a query is bounded', () => {
  const words = Array.from({ length: 500 }, (_, index) => `w${index}`)
  assert.equal(parseQuery(words.join(' '), ['en']).clauses.length, 64)
  assert.equal(parseQuery(`"${words.join(' ')}"`, ['en']).clauses.length, 1)
})

test('a cached word is parsed in the same way, and only its last occurrence is a prefix', () => {
  const prefixes = (text: string) =>
    parseQuery(text, null, { lastIsPrefix: true }).clauses.map((clause) => [
      clause.type === 'word' && clause.expansions !== undefined,
      clause.weight,
    ])
  const first = parseQuery('zamówienia Straßenbahn', null)
  assert.deepEqual(parseQuery('zamówienia Straßenbahn', null), first)
  for (let i = 0; i < 2; i++) {
    assert.deepEqual(prefixes('tidal tidal'), [
      [false, 1],
      [true, 1],
    ])
  }
})

test('any text parses to well-formed clauses', () => {
  fc.assert(
    fc.property(arbitraryText, fc.option(fc.array(arbitraryLanguage, { maxLength: 4 })), (text, languages) => {
      const query = parseQuery(text, languages?.filter((language) => language !== null) ?? null)
      for (const clause of [...query.clauses, ...query.boosts]) {
        const groups = clause.type === 'word' ? [clause.group] : clause.groups
        assert.ok(clause.weight > 0 && groups.length >= (clause.type === 'word' ? 1 : 2) && groups.length <= 64)
        for (const group of groups) {
          assert.ok(group.length > 0 && group.length <= 12 && new Set(group).size === group.length)
          assert.ok(group.every((term) => term.length > 0))
        }
      }
      assert.ok(query.boosts.every((clause) => clause.kind === 'any'))
    }),
  )
})

test('a query made of a text finds the text', () => {
  fc.assert(
    fc.property(arbitraryText, fc.constantFrom('en', 'de', 'ar', 'zh', 'pl', 'th', 'ko'), (text, language) => {
      const bare = text.replace(/["“”„‟＂+＋\-－]/gu, ' ').slice(0, 300)
      const terms = new Set(analyse(bare, language).terms)
      for (const clause of parseQuery(bare, [language]).clauses) {
        assert.ok(clause.type === 'word' && clause.group.some((term) => terms.has(term)), JSON.stringify(clause))
      }
      if (terms.size > 0) assert.ok(parseQuery(bare, [language]).clauses.length > 0)
    }),
  )
})
