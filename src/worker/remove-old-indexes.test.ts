import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { until } from '../../test/support/until.ts'
import { silentIncidents } from '../platform/incidents.ts'
import { startRemovingOldIndexes } from './remove-old-indexes.ts'

const quiet = { info() {}, warn() {}, error() {} }

/** Storage with indexes of other versions, and which of them are in use. */
class Versions {
  readonly fedBy: 'one' | 'each'
  existing: (string | null)[] = ['before', null]
  used = new Set<string | null>(this.existing)
  checks = 0
  readonly indexing = { isRefilling: true, isFeeding: true }

  constructor(fedBy: 'one' | 'each') {
    this.fedBy = fedBy
  }

  async otherVersions() {
    this.checks++
    return this.existing.map((version) => ({ version, bytes: 1 }))
  }

  async removeVersion(version: string | null): Promise<void> {
    this.existing = this.existing.filter((one) => one !== version)
  }

  start(unusedForMs: number) {
    const isInUse = async (version: string | null) => this.used.has(version)
    const parts = { home: this, indexing: this.indexing, isInUse, unusedForMs, checkEveryMs: 5 }
    return startRemovingOldIndexes(parts, silentIncidents, quiet)
  }

  /** Resolves after one complete check that began after the call. */
  async checked(): Promise<void> {
    const seen = this.checks
    await until('it checks again', () => this.checks > seen + 1)
  }
}

suite('the index of another version', () => {
  test('stays while the own index is incomplete, while this process does not feed, and while the other one is used', async (t) => {
    const versions = new Versions('one')
    const removing = versions.start(0)
    t.after(() => removing.stop())
    assert.equal(removing.mayReplaceAnother, true)
    versions.used.clear()
    await versions.checked()
    versions.indexing.isRefilling = false
    versions.indexing.isFeeding = false
    await versions.checked()
    versions.used.add('before')
    versions.used.add(null)
    versions.indexing.isFeeding = true
    await versions.checked()
    assert.deepEqual(versions.existing, ['before', null])
    versions.used.delete(null)
    await until('the unused one is removed', () => versions.existing.length === 1)
    assert.equal(removing.mayReplaceAnother, true)
    versions.used.clear()
    await until('the other one too', () => versions.existing.length === 0)
    await until('it is known', () => !removing.mayReplaceAnother)
  })

  test('stays for a while after its last process has ended, in case one comes back', async (t) => {
    const versions = new Versions('one')
    versions.indexing.isRefilling = false
    versions.used.delete(null)
    const removing = versions.start(10 ** 9)
    t.after(() => removing.stop())
    await versions.checked()
    await versions.checked()
    assert.deepEqual(versions.existing, ['before', null])
  })

  test('is removed at once if only this process could use it, but not before the new one is complete', async (t) => {
    const versions = new Versions('each')
    const removing = versions.start(10 ** 9)
    t.after(() => removing.stop())
    await versions.checked()
    assert.equal(versions.existing.length, 2)
    versions.indexing.isRefilling = false
    await until('both are removed', () => versions.existing.length === 0)
  })
})
