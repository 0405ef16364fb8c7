import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkScopeProperty } from '../../test/properties/scope.ts'
import { type AccessRequest, compileScope } from './compile-scope.ts'
import { fieldPermissions, type ScopeEntry } from './scope.ts'

const any: ScopeEntry = {
  datasets: ['news'],
  platforms: null,
  languages: null,
  regions: null,
  publishedFrom: null,
  publishedTo: null,
  fields: fieldPermissions,
}

test('no document or field is opened beyond what a single entry allows (10,000 cases against a brute-force oracle)', () => {
  checkScopeProperty(10_000)
})

test('an application without entries is refused', () => {
  const access = compileScope([], {})
  assert.deepEqual(access, { allowed: false, reason: 'this application has no entitlements', path: null })
})

test('a named dataset that no entry allows is refused by name, even next to an allowed one', () => {
  const access = compileScope([any], { datasets: ['news', 'forum'] })
  assert.equal(access.allowed, false)
  assert.match(access.allowed ? '' : access.reason, /dataset "forum"/)
})

test('a refusal names what is missing, and blames nothing else', () => {
  const titles: ScopeEntry = { ...any, datasets: ['news'], platforms: ['rss'], fields: ['title'] }
  const facts: ScopeEntry = { ...any, datasets: ['news', 'forum'], platforms: ['web'], fields: ['title', 'facts'] }
  const refusal = (entries: readonly ScopeEntry[], request: AccessRequest) => {
    const access = compileScope(entries, request)
    return access.allowed ? null : [access.reason, access.path]
  }
  assert.deepEqual(refusal([titles], { datasets: ['news'], needs: [['facts']] }), [
    'this needs the field permission facts, which this application does not have for the datasets named in the request',
    null,
  ])
  assert.deepEqual(refusal([titles], { needs: [['author', 'metadata']] }), [
    'this needs the field permission author or metadata, which this application does not have',
    null,
  ])
  assert.deepEqual(refusal([titles], { datasets: ['blogs'], needs: [['facts']] }), [
    'dataset "blogs" is outside this application\'s entitlements',
    'datasets',
  ])
  assert.deepEqual(refusal([titles, facts], { datasets: ['forum'], platforms: ['rss'] }), [
    'no single entitlement of this application allows the datasets and the platforms named in the request together',
    null,
  ])
  assert.deepEqual(refusal([titles, { ...facts, fields: ['facts'] }], { needs: [['facts'], ['title']] }), [
    'no single entitlement of this application grants the field permissions facts, title together',
    null,
  ])
})

test('two entries are not combined: tag filter on one dataset, metadata permission on another', () => {
  const plain: ScopeEntry = { ...any, datasets: ['news'], fields: ['title', 'body'] }
  const rich: ScopeEntry = { ...any, datasets: ['forum'], fields: ['metadata'] }
  assert.equal(compileScope([plain, rich], { datasets: ['news'], needs: [['metadata']] }).allowed, false)
  const access = compileScope([plain, rich], { needs: [['metadata']] })
  assert.deepEqual(access.allowed && access.scope.entries.map((entry) => entry.datasets), [['forum']])
})

test('a want excludes no entry, and is refused if no applicable entry grants it', () => {
  const plain: ScopeEntry = { ...any, datasets: ['news'], fields: ['title'] }
  const rich: ScopeEntry = { ...any, datasets: ['forum'], fields: ['title', 'metadata'] }
  const wants = [['author', 'metadata']] as const
  const access = compileScope([plain, rich], { needs: [['title', 'body']], wants })
  assert.deepEqual(access.allowed && access.scope.entries, [plain, rich])
  const reason = (entries: readonly ScopeEntry[], request: AccessRequest) => {
    const refused = compileScope(entries, { ...request, wants })
    return refused.allowed ? null : refused.reason
  }
  assert.match(reason([plain], {})!, /needs the field permission author or metadata, which this application does not/)
  assert.match(reason([plain, rich], { datasets: ['news'] })!, /does not have for the datasets named in the request/)
  const elsewhere: ScopeEntry = { ...rich, fields: ['metadata'] }
  assert.match(reason([plain, elsewhere], { needs: [['title']] })!, /permissions title, author or metadata together/)
})

test('the scope is narrowed to what the request names', () => {
  const access = compileScope([{ ...any, datasets: ['news', 'forum'] }], { datasets: ['forum'], platforms: ['rss'] })
  assert.deepEqual(access.allowed && access.scope.entries[0], { ...any, datasets: ['forum'], platforms: ['rss'] })
})

test('a dataset that is being erased may be named, and nothing is found in it', () => {
  const entries = [{ ...any, datasets: ['news', 'forum'] }]
  const datasets = (request: AccessRequest) => {
    const access = compileScope(entries, request)
    return access.allowed ? access.scope.entries.map((entry) => entry.datasets) : access.reason
  }
  assert.deepEqual(datasets({ hidden: ['forum'] }), [['news']])
  assert.deepEqual(datasets({ datasets: ['forum', 'news'], hidden: ['forum'] }), [['news']])
  assert.deepEqual(datasets({ datasets: ['forum'], hidden: ['forum'] }), [['']], 'no dataset has such an id')
  assert.deepEqual(datasets({ hidden: [] }), [['news', 'forum']])
})
