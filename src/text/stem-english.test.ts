import assert from 'node:assert/strict'
import { test } from 'node:test'
import { stemEnglish } from './stem-english.ts'

test('inflected and derived forms meet', () => {
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
