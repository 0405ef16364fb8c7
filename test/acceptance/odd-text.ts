import fc from 'fast-check'

/** All of Unicode, including halves of surrogate pairs, with many symbols of the query language. */
const unit = fc.oneof(
  { weight: 4, arbitrary: fc.integer({ min: 0, max: 0xffff }).map((code) => String.fromCharCode(code)) },
  { weight: 2, arbitrary: fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }) },
  { weight: 3, arbitrary: fc.constantFrom('"', '+', '-', ' ', '“', '＋', '\\', '*', '\u0000', '\ufeff', '\u200d') },
  { weight: 2, arbitrary: fc.constantFrom('tern', 'plover', '机器学习', 'กรุงเทพ', 'e\u0301', '👨‍👩‍👧', 'ﷺ') },
)
export const oddText = (maxLength: number): fc.Arbitrary<string> =>
  fc.array(unit, { minLength: 1, maxLength }).map((units) => units.join('').slice(0, maxLength))
