import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { arbitraryText } from './arbitrary-text.ts'
import { guessLanguage, guessWithParts } from './guess-language.ts'

test('running text shows its language', () => {
  const texts = {
    en: 'What are the rules for those who would like to stay?',
    de: 'Wie viele Punkte gab die Verteidigung ab, und wann war das?',
    es: '¿Cuántas capturas ha conseguido en su carrera?',
    fr: 'Quelle est la capitale du pays dans lequel ils vivent ?',
    it: 'Quali sono le regole per gli studenti della scuola?',
    pt: 'Quais são as regras para os alunos da escola?',
    nl: 'Wat is het verschil tussen deze en die van hem?',
    ru: 'Сколько очков набрала эта команда, когда она была там?',
    uk: 'Скільки очок набрала ця команда, якщо вона була там?',
    ar: 'كم عدد النقاط التي قام بها في مسيرته هذه؟',
    fa: 'این کتاب را برای شما از آنها گرفته است',
    tr: 'Bu kitap için ne kadar para verildi ve neden?',
    pl: 'Ile punktów zdobyła ta drużyna, kiedy to było?',
  }
  for (const [language, text] of Object.entries(texts)) assert.equal(guessLanguage(text), language, text)
})

test('capital letters do not change the language', () => {
  const texts = {
    en: 'WHAT ARE THE RULES FOR THOSE WHO WOULD LIKE TO STAY?',
    de: 'Wie Viele Punkte Gab Die Verteidigung Ab, Und Wann War Das?',
    ru: 'СКОЛЬКО ОЧКОВ НАБРАЛА ЭТА КОМАНДА, КОГДА ОНА БЫЛА ТАМ?',
  }
  for (const [language, text] of Object.entries(texts)) assert.equal(guessLanguage(text), language, text)
})

test('names, lists and other scripts have no clear language', () => {
  for (const text of ['', 'Panthers', 'Kawann Short 24', 'GPU A B C', '机器学习', '!!!'])
    assert.equal(guessLanguage(text), null)
})

test('any text gives a language code or null', () => {
  fc.assert(fc.property(arbitraryText, (text) => /^[a-z]{2}$/u.test(guessLanguage(text) ?? 'en')))
})

test('a text with `noPartIsClear` has no part with a clear language', () => {
  const words = fc.constantFrom('the', 'what', 'die', 'de', 'que', 'ist', 'und', 'walrus', 'Pro', '猫', 'W3', 'и')
  const texts = fc.oneof(
    fc.array(words, { maxLength: 8 }).map((some) => some.join(' ')),
    arbitraryText,
  )
  let seen = 0
  fc.assert(
    fc.property(texts, texts, (title, body) => {
      const { noPartIsClear } = guessWithParts(`${title}\n${body}`)
      if (noPartIsClear) assert.deepEqual([guessLanguage(title), guessLanguage(body)], [null, null])
      seen += noPartIsClear ? 1 : 0
    }),
    { numRuns: 2000 },
  )
  assert.ok(seen > 100 && seen < 1900, `${seen} of 2000`)
})

test('parts beyond the start of a text are not covered', () => {
  const text = `${'walrus '.repeat(400)}what are the rules for those who would like to stay`
  assert.deepEqual(guessWithParts(text), { language: null, noPartIsClear: false })
})
