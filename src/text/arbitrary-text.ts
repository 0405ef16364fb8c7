import fc from 'fast-check'

/** Texts for property tests: real scripts and punctuation, and arbitrary 16-bit units. */
const PIECES = [
  'The dogs are running in the U.S. since 1,000.5 days. ',
  "l'été café RÉSUMÉS team's ",
  'Die Häuser der Straße ',
  'собаки й ёлки п’ять ',
  'والكتاب مُحَمَّد ',
  '机器学习。我爱猫！',
  'カタカナ ｶﾞ 食べる',
  '한국어를 물을 ',
  'ภาษาไทยเขียนติดกัน',
  'हिन्दी की किताबें ',
  'שָׁלוֹם ',
  'e\u0301\u200d\u00ad',
  '👩‍👩‍👧🇩🇪',
  '<b>&amp;"\'</b>',
  '+a -b "c d" ',
  '\ud800',
  '\u0000\u200b\ufeff',
  '\n\n',
  'ﷺ½㎏',
]

const anyUnits = fc
  .array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 60 })
  .map((units) => String.fromCharCode(...units))

export const arbitraryText: fc.Arbitrary<string> = fc
  .array(fc.oneof(fc.constantFrom(...PIECES), fc.string({ unit: 'binary', maxLength: 20 }), anyUnits), {
    maxLength: 30,
  })
  .map((parts) => parts.join(''))

export const arbitraryLanguage: fc.Arbitrary<string | null> = fc.constantFrom(
  ...[
    null,
    'en',
    'de-AT',
    'es',
    'ar',
    'ru',
    'zh',
    'ja',
    'ko',
    'th',
    'pl',
    'tr',
    'el',
    'hi',
    'fa',
    'sr',
    'EN',
    '',
    '??',
    'constructor',
  ],
)
