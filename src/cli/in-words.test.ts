import assert from 'node:assert/strict'
import { test } from 'node:test'
import { TidemarkError } from '../platform/errors.ts'
import { ConfigError } from '../settings/config.ts'
import { NewerStoreError } from '../storage/open-store.ts'
import { inWords } from './in-words.ts'

const system = (fields: object): Error => Object.assign(new Error('raw words'), fields)

const sqlite = (errcode: number): Error => system({ code: 'ERR_SQLITE_ERROR', errcode })

const cases: [string, unknown, number, RegExp][] = [
  ['settings', new ConfigError(['A is wrong', 'B is wrong']), 2, /^A is wrong\nB is wrong$/],
  ['a newer store', new NewerStoreError(9, 8), 2, /newer version.*restore/],
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
  [
    'a file of another user',
    system({ code: 'EACCES', syscall: 'stat', path: '/d/f' }),
    1,
    /^\/d\/f cannot be used \(EACCES\): run this as the user that owns it, or give this user permission/,
  ],
  [
    'a file that cannot be changed',
    system({ code: 'EROFS', syscall: 'open', path: '/f' }),
    1,
    /\/f .*mounted read-only$/,
  ],
  [
    'a damaged database',
    sqlite(11),
    1,
    /cannot be used: raw words; restore a backup \(tidemark restore FOLDER --force/,
  ],
  ['no database', sqlite(26), 1, /cannot be used: raw words; restore a backup/],
  ['a database without permission', sqlite(3), 1, /raw words; give this user read and write permission/],
  ['a locked database', sqlite(5 + 256), 1, /raw words; another process holds it: wait/],
  ['a locked table', sqlite(6), 1, /raw words; another process holds it: wait/],
  ['a read-only database', sqlite(8 + 256 * 5), 1, /raw words; give this user .* not mounted read-only$/],
  ['a disk that fails', sqlite(10 + 256), 1, /raw words; the disk cannot read or write it/],
  ['a disk without room', sqlite(13), 1, /raw words; free up space/],
  ['a database that cannot be opened', sqlite(14), 1, /raw words; make sure that it is a file, .* not mounted/],
  ['a query that fails', sqlite(1), 1, /raw words; this is a defect/],
  ['anything else', system({}), 1, /^raw words$/],
  ['no error at all', 'a text', 1, /^a text$/],
]

for (const [name, error, exitCode, message] of cases) {
  test(`a sentence and an exit code for ${name}`, () => {
    const words = inWords(error)
    assert.equal(words.exitCode, exitCode)
    assert.match(words.message, message)
    assert.equal(/restore/.test(words.message), /restore/.test(message.source))
  })
}
