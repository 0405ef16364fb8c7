import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseYaml, YamlFault } from './parse-yaml.ts'

const refused = (text: string, message: RegExp): void =>
  assert.throws(
    () => parseYaml(text),
    (error) => error instanceof YamlFault && message.test(error.message),
  )

test('aliases repeat their anchors, many times if needed', () => {
  assert.deepEqual(parseYaml('a: &x {b: 1}\nc: *x\nd: [*x, *x]'), {
    a: { b: 1 },
    c: { b: 1 },
    d: [{ b: 1 }, { b: 1 }],
  })
  const often = `a: &x 1\nb: [${Array(5000).fill('*x').join(', ')}]`
  assert.equal((parseYaml(often) as { b: number[] }).b.length, 5000)
  // An anchor may be defined again: an alias refers to the last definition before it.
  assert.deepEqual(parseYaml('[&x 1, *x, &x 2, *x]'), [1, 1, 2, 2])
})

test('an alias within its own anchor is refused at any depth', () => {
  for (const text of ['&l {x: *l}', 'a: &l [1, {b: [*l]}]', '&l {? [*l] : 1}', 'a: &a {b: &b {c: *b, d: *a}}']) {
    refused(text, /^the alias \*[lab] is within the anchor that it names/)
  }
})

test('aliases that repeat aliases are refused before anything grows', () => {
  const lines = ['a0: &a0 [x, x, x, x, x, x, x, x, x]']
  for (let i = 1; i < 100; i++)
    lines.push(
      `a${i}: &a${i} [${Array(9)
        .fill(`*a${i - 1}`)
        .join(', ')}]`,
    )
  refused(lines.join('\n'), /aliases repeat too much: .* more than 1000000 values/)
  refused(`a: &x 1\nb: [${'*x,'.repeat(10_001)}]`, /^10001 aliases, but at most 10000/)
})

test('invalid or too deeply nested YAML is refused with the reason', () => {
  refused('a: [1', /at line 1/)
  refused('a: *none', /^the alias \*none has no anchor before it$/)
  refused('['.repeat(10_000), /nested too deeply/)
})
