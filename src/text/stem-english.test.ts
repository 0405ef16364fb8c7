import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { stemEnglish } from './stem-english.ts'

test('inflected and derived forms have the same stem', () => {
  const families = [
    ['distribution', 'distributions', 'distributed', 'distributing', 'distribute'],
    ['connect', 'connected', 'connecting', 'connection', 'connections', 'connective'],
    ['hope', 'hoping', 'hoped', 'hopes'],
    ['happy', 'happiness'],
    ['die', 'dying', 'dies', 'died'],
    ['organization', 'organizations', 'organize', 'organized'],
    ['geologist', 'geology'],
  ]
  for (const family of families) assert.deepEqual([...new Set(family.map(stemEnglish))].length, 1, family.join())
})

test('the stems are those of the published algorithm', () => {
  const stems = {
    consigned: 'consign',
    consistency: 'consist',
    knightly: 'knight',
    generously: 'generous',
    news: 'news',
    skies: 'sky',
    exceedingly: 'exceed',
    sky: 'sky',
    hopping: 'hop',
    controlling: 'control',
    relational: 'relat',
    vietnamization: 'vietnam',
    triplicate: 'triplic',
    agreed: 'agre',
    saying: 'say',
    by: 'by',
    cries: 'cri',
    ties: 'tie',
    gas: 'gas',
    kiwis: 'kiwi',
    added: 'add',
    evening: 'evening',
    universal: 'universal',
    later: 'later',
    youth: 'youth',
    boyish: 'boyish',
  }
  for (const [word, stem] of Object.entries(stems)) assert.equal(stemEnglish(word), stem, word)
})

/** Debian's package snowball-data: 29,417 words and their stems, as published in 2021. */
const vocabulary = '/usr/share/snowball/data/english'

/** The stems that Snowball 3.1 changed since then. */
const changedSince: Readonly<Record<string, string>> = {
  added: 'add',
  adding: 'add',
  apologists: 'apolog',
  archaeologists: 'archaeolog',
  ebbed: 'ebb',
  ebbing: 'ebb',
  emergency: 'emergenc',
  entomologist: 'entomolog',
  erred: 'err',
  erring: 'err',
  evening: 'evening',
  evenings: 'evening',
  genealogist: 'genealog',
  geologist: 'geolog',
  geologists: 'geolog',
  interfered: 'interfer',
  interfering: 'interfer',
  internal: 'internal',
  internally: 'internal',
  international: 'internat',
  interval: 'interval',
  intervals: 'interval',
  lateral: 'lateral',
  laterally: 'lateral',
  offing: 'off',
  organic: 'organic',
  organically: 'organic',
  organism: 'organism',
  organization: 'organiz',
  organizations: 'organiz',
  organized: 'organiz',
  ornithologist: 'ornitholog',
  ornithologists: 'ornitholog',
  pasted: 'paste',
  psychologist: 'psycholog',
  universal: 'universal',
  universally: 'universal',
  university: 'universiti',
}

test('every word of the published vocabulary has its published stem', {
  skip: existsSync(vocabulary) ? false : `needs ${vocabulary} (Debian: snowball-data)`,
}, () => {
  const [words, stems] = ['voc.txt', 'output.txt'].map((file) =>
    readFileSync(`${vocabulary}/${file}`, 'utf8').trim().split('\n'),
  )
  assert.equal(words!.length, stems!.length)
  assert.ok(words!.length > 29_000, `${words!.length} words`)
  for (const [i, word] of words!.entries()) {
    // Words are split at apostrophes before they are stemmed.
    if (!word.includes("'")) assert.equal(stemEnglish(word), changedSince[word] ?? stems![i], word)
  }
})
