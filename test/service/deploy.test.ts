import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { parse } from 'yaml'
import { startServer, tidemark } from '../acceptance/harness.ts'

const root = new URL('../../', import.meta.url)
const read = (name: string): string => readFileSync(new URL(name, root), 'utf8')

test('the settings in the deployment files are settings that there are', async () => {
  const { stdout } = await tidemark(['serve', '--help'])
  const known = new Set(stdout.match(/TIDEMARK_[A-Z_]+/g))
  for (const file of ['deploy/compose.yaml', 'deploy/tidemark.service', 'deploy/Dockerfile', 'docs/operations.md']) {
    for (const name of read(file).match(/TIDEMARK_[A-Z_]+/g) ?? []) assert.ok(known.has(name), `${file}: ${name}`)
  }
})

test('the compose file is whole: every volume is declared, every process has a data folder of its own', () => {
  const file = parse(read('deploy/compose.yaml'), { merge: true })
  const folders: string[] = []
  for (const [name, service] of Object.entries<Record<string, string[]>>(file.services)) {
    for (const volume of service.volumes!) {
      const [source, target] = volume.split(':') as [string, string]
      assert.ok(source in file.volumes, `${name}: ${source}`)
      if (target === '/data') folders.push(source)
    }
  }
  assert.equal(new Set(folders).size, folders.length)
  assert.ok(existsSync(new URL('deploy/Dockerfile', root)))
  for (const line of read('deploy/Dockerfile').matchAll(/^COPY (.+) \S+$/gm)) {
    for (const source of line[1]!.split(' ')) assert.ok(existsSync(new URL(source, root)), source)
  }
})

test('the product is started everywhere with the same flags', () => {
  const flags = (JSON.parse(read('package.json')).scripts.tidemark as string).match(/--[a-z-]+=\d+/g)!
  assert.ok(flags.length > 0)
  for (const flag of flags) {
    for (const file of ['deploy/Dockerfile', 'deploy/tidemark.service']) assert.ok(read(file).includes(flag), file)
  }
})

test('what operations are told to watch is in the metrics', async () => {
  const server = await startServer()
  const metrics = (await server.admin('GET', '/metrics')).text
  for (const name of read('docs/operations.md').match(/tidemark_[a-z_]+_(seconds|calls)/g)!) {
    assert.ok(metrics.includes(name), name)
  }
  await server.stop()
})
