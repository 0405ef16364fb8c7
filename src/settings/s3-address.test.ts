import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseS3Address } from './s3-address.ts'

test('a bucket with all parameters', () => {
  assert.deepEqual(parseS3Address('s3://results/tidemark/one'), {
    ...{ bucket: 'results', prefix: 'tidemark/one', endpoint: null, region: null, pathStyle: false, redirect: null },
  })
  assert.deepEqual(parseS3Address('s3://results/?endpoint=http://127.0.0.1:8333&region=eu-1&redirect=true'), {
    ...{ bucket: 'results', prefix: '', endpoint: 'http://127.0.0.1:8333', region: 'eu-1' },
    ...{ pathStyle: true, redirect: 'http://127.0.0.1:8333' },
  })
  const elsewhere = parseS3Address('s3://results?endpoint=http://s3:8333&path_style=false&redirect=https://files.test')
  assert.deepEqual([elsewhere?.pathStyle, elsewhere?.redirect], [false, 'https://files.test'])
})

test('invalid addresses: credentials, other parameters, paths that lead elsewhere, endpoints with a path', () => {
  for (const text of [
    's3://',
    's3:///results',
    's3://UPPER',
    's3://results:9000/x',
    's3://key:secret@results/x',
    's3://results/a//b',
    's3://results/a%2fb',
    's3://results/x#y',
    's3://results?colour=red',
    's3://results?region=a&region=b',
    's3://results?endpoint=ftp://host',
    's3://results?endpoint=http://user:hush@host',
    's3://results?endpoint=http://host/path',
    's3://results?path_style=yes',
    's3://results?redirect=maybe',
    `s3://results/${'a'.repeat(1100)}`,
    'https://results/x',
  ]) {
    assert.equal(parseS3Address(text), null, text)
  }
})
