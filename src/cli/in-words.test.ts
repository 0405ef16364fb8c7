import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ConfigError } from '../config.ts'
import { TidemarkError } from '../errors.ts'
import { NewerStoreError } from '../storage/open-store.ts'
import { inWords } from './in-words.ts'

const system = (fields: object): Error => Object.assign(new Error('raw words'), fields)

const cases: [string, unknown, number, RegExp][] = [
  ['settings', new ConfigError(['A is wrong', 'B is wrong']), 2, /^A is wrong\nB is wrong$/],
  ['a newer store', new NewerStoreError(9, 8), 2, /newer version/],
  ['bad input', new TidemarkError('invalid_request', 'name must be a text'), 2, /^name must be a text$/],
  ['something missing', new TidemarkError('not_found', 'there is no key'), 1, /^there is no key$/],
  [
    'a taken port',
    system({ code: 'EADDRINUSE', syscall: 'listen', port: 80 }),
    2,
    /^TIDEMARK_PORT is 80, but that port is already in use/,
  ],
  [
    'a port below 1024',
    system({ code: 'EACCES', syscall: 'listen', port: 80 }),
    2,
    /^TIDEMARK_PORT is 80, but this user/,
  ],
  [
    'an address elsewhere',
    system({ code: 'EADDRNOTAVAIL', syscall: 'listen', address: '1.2.3.4' }),
    2,
    /^TIDEMARK_HOST is "1\.2\.3\.4"/,
  ],
  ['an unknown host', system({ code: 'ENOTFOUND', syscall: 'getaddrinfo', hostname: 'x' }), 2, /^TIDEMARK_HOST is "x"/],
  [
    'a folder without permission',
    system({ code: 'EACCES', syscall: 'mkdir', path: '/d' }),
    2,
    /^TIDEMARK_DATA_DIR is "\/d".*EACCES/,
  ],
  ['a broken database', system({ code: 'ERR_SQLITE_ERROR' }), 1, /cannot be used: raw words; restore/],
  ['anything else', system({}), 1, /^raw words$/],
  ['no error at all', 'a text', 1, /^a text$/],
]

for (const [name, error, exitCode, message] of cases) {
  test(`a sentence and an exit code for ${name}`, () => {
    const words = inWords(error)
    assert.equal(words.exitCode, exitCode)
    assert.match(words.message, message)
  })
}
