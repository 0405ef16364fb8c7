import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, existsSync, openSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { json, text } from 'node:stream/consumers'
import { before, test } from 'node:test'
import { freshFolder, startServer, startTidemark, type TestServer, tidemark } from '../acceptance/harness.ts'
import { until } from '../support/until.ts'

/** One instance for all tests. The server beside it shows that commands and server see the same data. */
let server: TestServer
const files = freshFolder()

before(async () => {
  server = await startServer()
})

function file(name: string, text: string): string {
  const path = join(files, name)
  writeFileSync(path, text)
  return path
}

/** Everything that an operator can set, without the times of last use. */
async function everything(): Promise<string> {
  const parts = ['datasets', 'embedding-profiles', 'applications', 'collectors', 'keys', 'audit?limit=200']
  const answers = await Promise.all(parts.map((part) => server.mustAdmin('GET', `/admin/v1/${part}`)))
  return JSON.stringify(answers).replaceAll(/"last_used_at":("[^"]*"|null)/g, '')
}

test('help lists the commands; without a command, or with an unknown one, exit code 2 and no stack', async () => {
  const [help, none, unknown] = await Promise.all([tidemark(['--help']), tidemark([]), tidemark(['frobnicate'])])
  assert.match((await tidemark(['--version'])).stdout, /^\d+\.\d+\.\d+\n$/)
  assert.equal(help.code, 0)
  for (const command of [
    'serve',
    'start',
    'migrate',
    'apply',
    'app',
    'key',
    'usage',
    'collector',
    'admin',
    'doctor',
    'openapi',
  ]) {
    assert.match(help.stdout, new RegExp(`^  ${command}\\b`, 'm'))
  }
  for (const wrong of [none, unknown]) {
    assert.equal(wrong.code, 2)
    assert.equal(wrong.stdout, '')
    assert.doesNotMatch(wrong.stderr, /\n\s+at /)
  }
  assert.match(unknown.stderr, /unknown command 'frobnicate'/)
})

test('serve --help names every setting with its flag and default', async () => {
  const { code, stdout } = await tidemark(['serve', '--help'])
  assert.equal(code, 0)
  const text = stdout.replaceAll(/\s+/g, ' ')
  for (const [flag, setting] of [
    ['--host', 'TIDEMARK_HOST, 127.0.0.1'],
    ['--port', 'TIDEMARK_PORT, 8080'],
    ['--data-dir', 'TIDEMARK_DATA_DIR, ./data; start: ./sample-data'],
    ['--admin-token', 'TIDEMARK_ADMIN_TOKEN'],
    ['--log-level', 'TIDEMARK_LOG_LEVEL, info'],
  ] as const) {
    assert.ok(text.includes(`${flag} <value>`) && text.includes(`[${setting}]`), setting)
  }
})

const instance = `
datasets:
  - {dataset_id: news, name: News}
  - {dataset_id: forum, name: Forum, description: Talk}
classifications:
  - {dataset_id: news, code: sports, name: Sports}
embedding_profiles:
  - {id: acme, provider: http, model: m, dimensions: 4, status: inactive}
applications:
  - name: Desk
    policy: {requests_per_second: 5, daily_quotas: {changes: 9}}
    entitlements:
      - {datasets: [news], fields: [title, body]}
    keys:
      - {name: laptop}
      - {name: short, expires_at: '2090-01-01T00:00:00Z'}
collectors:
  - {name: rss, datasets: [news]}
`

test('apply: a dry run shows and changes nothing, the first run makes all, the second nothing', async () => {
  const path = file('instance.yaml', instance)
  const empty = await everything()
  const dry = await server.tidemark(['apply', path, '--dry-run'])
  assert.equal(dry.code, 0, dry.stderr)
  assert.equal(await everything(), empty)
  assert.doesNotMatch(dry.stdout, /tm[cl]_/)

  const first = await server.tidemark(['apply', path])
  assert.equal(first.code, 0, first.stderr)
  const shown = first.stdout.split('\n').filter((line) => line.startsWith('+ '))
  assert.deepEqual(
    shown,
    dry.stdout.split('\n').filter((line) => line.startsWith('+ ')),
  )
  assert.ok(shown.includes('+ dataset forum') && shown.includes('+ key "laptop" of Desk'))
  const secrets = [...first.stdout.matchAll(/shown only once: (tm[cl]_\S+)/g)].map((match) => match[1]!)
  assert.equal(secrets.length, 3)
  const account = await server.consumer(secrets[0]!, 'GET', '/v1/account')
  assert.equal(account.body.name, 'Desk')
  assert.deepEqual(account.body.entitlements[0].fields, ['title', 'body'])

  const made = await everything()
  const second = await server.tidemark(['apply', path])
  assert.equal(second.code, 0)
  assert.equal(second.stdout, 'nothing to change\n')
  assert.equal(await everything(), made)
})

test('apply: a changed line changes that and says what', async () => {
  const changed = instance
    .replace('name: Forum,', 'name: Forums,')
    .replace('requests_per_second: 5', 'requests_per_second: 6')
  const { code, stdout } = await server.tidemark(['apply', file('changed.yaml', changed)])
  assert.equal(code, 0)
  assert.deepEqual(stdout.trim().split('\n'), ['~ dataset forum: name', '~ application Desk: policy'])
})

test('apply: a file with anything wrong in it changes nothing at all', async () => {
  const good = '  - {dataset_id: half, name: Half}\n'
  const tenOf = (i: number) => `a${i}: &a${i} [${Array(10).fill(i === 0 ? 'x' : `*a${i - 1}`)}]\n`
  const growing = Array.from({ length: 30 }, (_, i) => tenOf(i)).join('')
  const cases: Record<string, [string, RegExp]> = {
    'broken.yaml': ['datasets: [', /not valid YAML.*line 1/],
    'field.yaml': [`datasets:\n${good}  - {dataset_id: a, name: A, title: A}\n`, /unknown field "datasets\.1\.title"/],
    'cycle.yaml': ['datasets: &l {x: *l}', /not valid YAML: the alias \*l is within the anchor that it names/],
    'cycle-alone.yaml': ['&l {x: *l}', /not valid YAML: the alias \*l is within the anchor that it names/],
    'growing.yaml': [growing, /not valid YAML: its aliases repeat too much/],
    // Found only while writing, after the dataset: the change is all or nothing.
    'dimensions.yaml': [
      `datasets:\n${good}embedding_profiles: [{id: acme, provider: http, model: m, dimensions: 5, status: active}]\n`,
      /has 4 dimensions/,
    ],
  }
  const whole = await everything()
  for (const [name, [text, message]] of Object.entries(cases)) {
    const { code, stderr } = await server.tidemark(['apply', file(name, text)])
    assert.equal(code, 1, name)
    assert.match(stderr, message)
    assert.equal(stderr.trim().split('\n').length, 1, stderr)
  }
  assert.equal(await everything(), whole)
})

test('app, key and collector: the same as the API, and wrong arguments are exit code 2', async () => {
  const made = await server.tidemark(['app', 'create', 'Typed', '--dataset', 'news', 'forum'])
  assert.equal(made.code, 0, made.stderr)
  const [, applicationId, keyId, secret] = /application (\S+)\nkey (\S+), shown only once: (\S+)/.exec(made.stdout)!
  assert.deepEqual((await server.consumer(secret!, 'GET', '/v1/account')).body.entitlements[0].datasets, [
    'news',
    'forum',
  ])

  const [show, list, keys, second, rotated, collector, collectors] = await Promise.all([
    server.tidemark(['app', 'show', applicationId!]),
    server.tidemark(['app', 'list']),
    server.tidemark(['key', 'list', '--app', applicationId!]),
    server.tidemark(['key', 'create', applicationId!, '--name', 'second', '--expires', '2090-01-01T00:00:00Z']),
    server.tidemark(['key', 'rotate', keyId!, '--grace', '60']),
    server.tidemark(['collector', 'create', 'typed', '--dataset', 'news']),
    server.tidemark(['collector', 'list']),
  ])
  for (const one of [show, list, keys, second, rotated, collector, collectors]) assert.equal(one.code, 0, one.stderr)
  assert.equal(JSON.parse(show.stdout).name, 'Typed')
  assert.match(list.stdout, /Typed/)
  assert.match(keys.stdout, new RegExp(`${keyId}.*${applicationId} +Typed`))
  assert.ok(!keys.stdout.includes(secret!))
  for (const { stdout } of [second, rotated]) {
    assert.equal((await server.consumer(/tmc_\S+/.exec(stdout)![0], 'GET', '/v1/account')).status, 200)
  }
  assert.match(rotated.stdout, new RegExp(`${keyId} works until `))
  assert.match(collectors.stdout, /rss/)

  const wrong: [readonly string[], number, RegExp][] = [
    [['app', 'show', 'app_x'], 1, /no application "app_x"/],
    [['app', 'create', ''], 2, /name must/],
    [['key', 'revoke', secret!], 1, /there is no key with the ID "tmc_\w{4}…": tidemark key list shows all/],
    [['app', 'create', 'x', '--analysis', 'pagerank'], 2, /policy\.analysis\.types\.0 must be one of knn_graph/],
    [
      ['key', 'create', applicationId!, '--expires', 'yesterday'],
      2,
      /a time in the future, such as 20\d\d-\d\d-\d\dT00:00:00Z/,
    ],
    [['collector', 'create', 'x', '--dataset', 'a b'], 2, /datasets\.0 must/],
  ]
  await Promise.all(
    wrong.map(async ([args, expected, message]) => {
      const { code, stderr } = await server.tidemark(args)
      assert.equal(code, expected, `${args.join(' ')}: ${stderr}`)
      assert.match(stderr, message)
      assert.doesNotMatch(stderr, /\n\s+at /)
    }),
  )
})

test('doctor: healthy, empty, and what is wrong with advice', async () => {
  const broken = freshFolder()
  writeFileSync(join(broken, 'file'), '')
  const [healthy, absent, notFolder] = await Promise.all([
    server.tidemark(['doctor']),
    tidemark(['doctor'], { dataDir: join(broken, 'absent') }),
    tidemark(['doctor'], { dataDir: join(broken, 'file') }),
  ])
  assert.equal(healthy.code, 0, healthy.stdout)
  assert.match(healthy.stdout, /^ {2}ok +datasets: 2$/m)
  assert.doesNotMatch(healthy.stdout, /FAIL|application "Desk" .* no valid key/)
  assert.equal(absent.code, 0)
  assert.match(absent.stdout, /note +data folder .* does not exist yet/)
  const wrongModel = await tidemark(['doctor'], {
    dataDir: join(broken, 'absent'),
    env: { TIDEMARK_EMBEDDING_URL: '', TIDEMARK_EMBEDDING_MODEL: 'nonsense' },
  })
  assert.equal(wrongModel.code, 2)
  assert.match(wrongModel.stderr, /TIDEMARK_EMBEDDING_MODEL names "nonsense"/)
  assert.equal(notFolder.code, 1)
  assert.match(notFolder.stdout, /FAIL +data folder .* is not a folder\n +do: set TIDEMARK_DATA_DIR/)
})

test('migrate brings an empty folder up to date, once, and doctor says what is still to do', async () => {
  const dataDir = freshFolder()
  const first = await tidemark(['migrate'], { dataDir })
  assert.equal(first.code, 0)
  assert.match(first.stdout, /^applied: access/)
  const empty = await tidemark(['doctor'], { dataDir })
  assert.equal(empty.code, 0)
  assert.match(empty.stdout, /note +no dataset yet\n +do: .*apply/)
  const second = await tidemark(['migrate'], { dataDir })
  assert.equal(second.code, 0)
  assert.equal(second.stdout, 'up to date\n')
})

test('openapi prints what the server serves, without touching the data folder', async () => {
  const { code, stdout } = await tidemark(['openapi'], { dataDir: join(files, 'file') })
  assert.equal(code, 0)
  assert.deepEqual(JSON.parse(stdout), (await server.call('GET', '/openapi.json')).body)
})

test('what a command prints is printed whole, however late it is read; who reads no further is no fault, a full disk is', async () => {
  const temporary = freshFolder()
  const begin = () =>
    spawn(process.execPath, ['bin/tidemark.js', 'openapi'], { env: { ...process.env, TMPDIR: temporary } })
  const late = begin()
  await once(late.stdout, 'readable')
  await until('all is done but the reading', () => readdirSync(temporary).length === 0)
  assert.deepEqual(await json(late.stdout), (await server.call('GET', '/openapi.json')).body)

  const early = begin()
  await once(early.stdout, 'readable')
  early.stdout.destroy()
  const [said, [code]] = await Promise.all([text(early.stderr), once(early, 'close')])
  assert.deepEqual([said, code], ['', 0])

  const full = openSync('/dev/full', 'w')
  const lost = spawn(process.execPath, ['bin/tidemark.js', '--help'], { stdio: ['ignore', full, 'pipe'] })
  closeSync(full)
  const [why, [failed]] = await Promise.all([text(lost.stderr!), once(lost, 'close')])
  assert.deepEqual([why, failed], ['tidemark: cannot write to standard output: ENOSPC\n', 1])
})

test('admin-token makes one that works after a restart, where none is set, and is in the audit log', async () => {
  const own = await startServer({ env: { TIDEMARK_ADMIN_TOKEN: '' } })
  const [, made] = /Admin token, shown only once: (tma_\S+)/.exec(own.stdout)!
  assert.equal((await own.as(made!, 'GET', '/admin/v1/datasets')).status, 200)
  const { code, stdout } = await own.tidemark(['admin-token'])
  assert.equal(code, 0)
  await own.restart()
  assert.doesNotMatch(own.stdout, /tma_/, 'it is shown once')
  assert.equal((await own.as(made!, 'GET', '/admin/v1/datasets')).status, 401)
  assert.equal((await own.as(stdout.trim(), 'GET', '/admin/v1/datasets')).status, 200)
  const { body } = await own.as(stdout.trim(), 'GET', '/admin/v1/audit')
  const lines = body.audit.filter((line: { action: string }) => line.action === 'admin_token.replace')
  assert.deepEqual(
    lines.map(({ actor, target, detail }: Record<string, unknown>) => [actor, target, detail]),
    [['command-line', 'admin', {}]],
  )
})

test('usage: by day and application, with names, also of one that is deleted', async () => {
  const reading = await server.makeApplication({ name: 'Reading Room', entitlements: [{ datasets: ['news'] }] })
  const gone = await server.makeApplication({ name: 'Gone' })
  for (const key of [reading.key, reading.key, gone.key]) await server.consumer(key, 'GET', '/v1/account')
  await server.consumer(reading.key, 'GET', '/v1/classifications?dataset_id=news')
  const written = async (): Promise<number> => {
    const { usage } = await server.mustAdmin('GET', '/admin/v1/usage')
    return usage
      .filter((one: { application_id: string }) =>
        [reading.applicationId, gone.applicationId].includes(one.application_id),
      )
      .reduce((sum: number, { used }: { used: number }) => sum + used, 0)
  }
  await until('the server has written down what it counted', async () => (await written()) === 4)
  await server.mustAdmin('DELETE', `/admin/v1/applications/${gone.applicationId}?force=true`)
  const { code, stdout } = await server.tidemark(['usage', '--days', '3'])
  assert.equal(code, 0)
  assert.match(stdout, /^day +application +name +requests +operations\n/)
  /** One line, or two if midnight was between the requests. */
  const linesOf = (id: string) => stdout.split('\n').filter((line) => line.includes(id))
  const requests = (id: string) =>
    linesOf(id).reduce((sum, line) => sum + Number(/ (\d+) +(?:account|classifications)\./.exec(line)![1]), 0)
  assert.deepEqual([requests(reading.applicationId), requests(gone.applicationId)], [3, 1])
  for (const line of linesOf(reading.applicationId)) assert.match(line, /^\d{4}-\d\d-\d\d +app_\S+ +Reading Room +\d/)
  assert.match(linesOf(gone.applicationId)[0]!, / \(deleted\) +1 +account\.read 1$/)
  const operations = linesOf(reading.applicationId).join()
  assert.ok(operations.includes('account.read') && operations.includes('classifications.list 1'), operations)

  const unused = await server.makeApplication({ name: 'Unused' })
  const [one, none, wrong, nobody] = await Promise.all([
    server.tidemark(['usage', '--application', 'Reading Room']),
    server.tidemark(['usage', '--application', unused.applicationId]),
    server.tidemark(['usage', '--days', '0']),
    server.tidemark(['usage', '--application', 'nobody']),
  ])
  assert.ok(one.stdout.includes(reading.applicationId) && !one.stdout.includes(gone.applicationId))
  assert.match(none.stdout, /^no requests from \d{4}-\d\d-\d\d to \d{4}-\d\d-\d\d\n$/)
  assert.equal(wrong.code, 2)
  assert.match(wrong.stderr, /whole number from 1 to/)
  assert.equal(nobody.code, 1)
})

test('app and collector: doubtful names and datasets are said, keys are made by name, delete by name', async () => {
  const first = await server.tidemark([
    'app',
    'create',
    'Twin',
    '--dataset',
    'news',
    'nope',
    '--analysis',
    'clustering',
    '--scheduling',
  ])
  assert.equal(first.code, 0)
  assert.equal(first.stderr, 'note: there is no dataset nope yet; existing datasets: forum, news\n')
  const made = await server.tidemark(['key', 'create', 'Twin'])
  assert.equal(made.code, 0, made.stderr)
  const account = await server.consumer(/tmc_\S+/.exec(made.stdout)![0], 'GET', '/v1/account')
  assert.equal(account.body.name, 'Twin')
  assert.equal(account.body.policy.analysis_enabled, true)
  assert.deepEqual(account.body.policy.analysis, { types: ['clustering'], scheduling: true })
  const [, id] = /application (\S+)/.exec(first.stdout)!

  const second = await server.tidemark(['app', 'create', 'Twin'])
  assert.match(second.stderr, /^note: it cannot read anything yet/m)
  assert.match(second.stderr, /^note: the name "Twin" is already in use/)
  const [, other] = /application (\S+)/.exec(second.stdout)!
  const unclear = await server.tidemark(['key', 'create', 'Twin'])
  assert.equal(unclear.code, 1)
  assert.match(unclear.stderr, new RegExp(`several applications are named "Twin": use an ID, one of .*${other}`))

  const inUse = await server.tidemark(['app', 'delete', other!])
  assert.equal(inUse.code, 1)
  assert.match(inUse.stderr, /is in use: valid keys: 1; use --force to delete it anyway\n$/)
  const deleted = await server.tidemark(['app', 'delete', other!, '--force'])
  assert.deepEqual([deleted.code, deleted.stdout], [0, `deleted ${other}\n`])
  const byName = await server.tidemark(['app', 'delete', 'Twin', '--force'])
  assert.deepEqual([byName.code, byName.stdout], [0, `deleted ${id}\n`])

  const collector = await server.tidemark(['collector', 'create', 'gone soon', '--dataset', 'nope'])
  assert.match(collector.stderr, /^note: there is no dataset nope yet/)
  const works = await server.tidemark(['collector', 'delete', 'gone soon'])
  assert.match(works.stderr, /is in use: valid keys: 1; use --force to delete it anyway\n$/)
  const gone = await server.tidemark(['collector', 'delete', 'gone soon', '--force'])
  assert.match(gone.stdout, /^deleted col_/)
  const again = await server.tidemark(['collector', 'delete', 'gone soon'])
  assert.equal(again.code, 1)
  assert.match(again.stderr, /there is no collector "gone soon": tidemark collector list shows all/)
})

test('what cannot be done, or is only to be shown, makes no store', async () => {
  const dataDir = join(freshFolder(), 'data')
  const absent = join(files, 'absent.ndjson')
  const imported = await tidemark(['import', absent], { dataDir })
  assert.equal(imported.code, 2)
  assert.equal(imported.stderr, `tidemark: ${absent}: there is no such file\n`)
  const missing = await tidemark(['apply', join(files, 'absent.yaml')], { dataDir })
  assert.equal(missing.code, 1)
  assert.match(missing.stderr, /absent\.yaml: there is no such file/)
  const folder = await tidemark(['import', files], { dataDir })
  assert.equal(folder.stderr, `tidemark: ${files}: it is a folder, not a file\n`)
  const dry = await tidemark(['apply', file('dry.yaml', instance), '--dry-run'], { dataDir })
  assert.equal(dry.code, 0, dry.stderr)
  assert.match(dry.stdout, /^\+ dataset news$/m)
  assert.ok(!existsSync(dataDir), `it was made: ${existsSync(dataDir) && readdirSync(dataDir)}`)
})

test('a command about an instance names the folder that has none, and makes nothing; one that sets up makes it', async () => {
  const dataDir = join(freshFolder(), 'data')
  const about = [
    ['usage'],
    ['reindex'],
    ['erase', 'list'],
    ['erase', 'documents', 'doc_x'],
    ['erase', 'dataset', 'news'],
    ['app', 'list'],
    ['app', 'show', 'x'],
    ['app', 'delete', 'x'],
    ['key', 'list'],
    ['key', 'create', 'x'],
    ['key', 'revoke', 'x'],
    ['key', 'rotate', 'x'],
    ['collector', 'list'],
    ['collector', 'delete', 'x'],
    ['admin', 'list'],
    ['admin', 'revoke', 'x'],
    ['cursor-key', 'rotate'],
    ['clock', 'confirm'],
  ]
  for (const args of about) {
    const { code, stdout, stderr } = await tidemark(args, { dataDir })
    assert.deepEqual([code, stdout], [2, ''], args.join(' '))
    assert.match(stderr, /^tidemark: there is no instance in [^\n]*TIDEMARK_DATA_DIR[^\n]*tidemark serve[^\n]*\n$/)
    assert.ok(stderr.includes(dataDir), stderr)
    assert.ok(!existsSync(dataDir), args.join(' '))
  }
  const setUp = [
    ['migrate'],
    ['admin-token'],
    ['admin', 'create', 'x', '--role', 'viewer'],
    ['app', 'create', 'x'],
    ['collector', 'create', 'x'],
    ['import', file('none.ndjson', '')],
    ['apply', file('set-up.yaml', 'datasets: [{dataset_id: news, name: News}]')],
  ]
  for (const args of setUp) {
    const fresh = join(freshFolder(), 'data')
    const { code, stderr } = await tidemark(args, { dataDir: fresh })
    assert.equal(code, 0, `${args.join(' ')}: ${stderr}`)
    assert.equal((await tidemark(['usage'], { dataDir: fresh })).code, 0)
  }
})

test('--data-dir names the folder for every command; one that creates an instance says where', async () => {
  const [ofEnvironment, named] = [join(freshFolder(), 'data'), join(freshFolder(), 'data')]
  const there = file('there.yaml', 'datasets: [{dataset_id: news, name: News}]')
  const run = (...args: string[]) => tidemark(args, { dataDir: ofEnvironment })
  const first = await run('apply', there, '--data-dir', named)
  assert.deepEqual([first.code, first.stderr.split('\n')[0]!.split(';')[0]], [0, `creating a new instance in ${named}`])
  const again = await run('--data-dir', named, 'apply', there)
  assert.deepEqual([again.code, again.stderr], [0, ''])
  assert.equal((await run('app', 'create', 'Reader', '--dataset', 'news', `--data-dir=${named}`)).code, 0)
  assert.match((await run('app', 'list', '--data-dir', named)).stdout, /Reader/)
  assert.ok(!existsSync(ofEnvironment))
})

test('what was erased is not counted by reindex, and an import says that it does not store it again', async () => {
  const dataDir = freshFolder()
  const line = (dataset: string, id: string) =>
    JSON.stringify({ dataset_id: dataset, source_platform: 'rss', external_id: id, title: id, body: `Text of ${id}` })
  const lines = [line('news', 'a'), line('forum', 'b'), line('news', 'c')]
  for (const args of [
    ['apply', file('two.yaml', 'datasets: [{dataset_id: news, name: News}, {dataset_id: forum, name: Forum}]')],
    ['import', file('three.ndjson', `${lines.join('\n')}\n`)],
    ['erase', 'dataset', 'forum', '--yes'],
  ]) {
    const { code, stderr } = await tidemark(args, { dataDir })
    assert.equal(code, 0, stderr)
  }
  const { code, stderr } = await tidemark(['reindex'], { dataDir })
  assert.equal(code, 0, stderr)
  assert.match(stderr, /\b2 documents, /)
  const again = await tidemark(['import', join(files, 'three.ndjson')], { dataDir })
  assert.equal(again.code, 0, again.stderr)
  assert.match(
    again.stderr,
    /three\.ndjson: 1 not stored: erased earlier \(`tidemark erase lift` allows them again\)\n/,
  )
})

test('an import that is stopped by Ctrl-C says that it can go on, and does', async (t) => {
  const total = 20_000
  const line = (i: number) =>
    JSON.stringify({ dataset_id: 'news', source_platform: 'rss', external_id: `stop-${i}`, title: `Title ${i}` })
  const path = file('long.ndjson', Array.from({ length: total }, (_, i) => `${line(i)}\n`).join(''))
  const dataDir = freshFolder()
  const prepared = await tidemark(['apply', file('news.yaml', 'datasets: [{dataset_id: news, name: News}]')], {
    dataDir,
  })
  assert.equal(prepared.code, 0, prepared.stderr)
  const running = await startTidemark(['import', path], { dataDir })
  t.after(() => running.kill9())
  await until('the first portion is kept', () => existsSync(`${path}.import`))
  running.signal('SIGINT')
  const stopped = await running.ended
  assert.equal(stopped.code, 1, stopped.stderr)
  assert.match(stopped.stderr, /long\.ndjson: stopped; run the same command again to resume\n$/)
  const rest = await tidemark(['import', path], { dataDir })
  assert.equal(rest.code, 0, rest.stderr)
  assert.match(rest.stdout, /resumed at byte [1-9]\d*$/m)
  // Portions in progress at the signal are written too, and count as unchanged when they come again.
  const read = [stopped, rest].flatMap(({ stderr }) => {
    const last = stderr.split('\n').findLast((one) => one.includes(' refused, '))!
    return [...last.matchAll(/(\d+) (?:created|unchanged)/g)].map((match) => Number(match[1]))
  })
  assert.equal(
    read.reduce((sum, count) => sum + count),
    total,
    stopped.stderr + rest.stderr,
  )
})
