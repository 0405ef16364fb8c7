import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { before, suite, test } from 'node:test'
import { artifactPath, BackupError, backupName, checkFiles, readManifest } from '../../src/operator/backup-manifest.ts'
import type { BackupPlace } from '../../src/operator/backup-place.ts'
import { type MadeBackup, makeBackup } from '../../src/operator/make-backup.ts'
import { newId } from '../../src/platform/ids.ts'
import { written } from './artifact-files.ts'

/** An empty folder or bucket for backups. */
export interface BackupPlaceFixture {
  readonly place: BackupPlace
  /** Leaves the remains of a backup of that time that was stopped halfway. */
  leaveHalf(madeAt: number): Promise<void>
  /** Whether anything of a backup of that time exists, complete or not. */
  hasAnything(madeAt: number): Promise<boolean>
}

const at = Date.UTC(2026, 10, 16, 12)
const hour = 3_600_000
const nothing = (): void => {}

/** The contract of every BackupPlace. */
export function checkBackupPlace(name: string, makePlace: () => Promise<BackupPlaceFixture>): void {
  suite(`backup place: ${name}`, () => {
    let fixture: BackupPlaceFixture
    let place: BackupPlace
    before(async () => {
      fixture = await makePlace()
      place = fixture.place
    })

    const result = Buffer.from('the result of a run')
    const artifact = written(newId('art'), result)
    const make =
      (madeAt: number, store = 'a store') =>
      (into: string): Promise<MadeBackup> =>
        makeBackup(
          into,
          {
            ...{ dataDir: into, version: '0.0.0', now: () => madeAt },
            async copyStore(path) {
              await writeFile(path, store)
              return { schema: 1, counts: { document: 3 }, artifacts: [artifact] }
            },
            readArtifact: async () => Readable.from([result]),
          },
          nothing,
        )

    test('what was made is there under its name, and opened as it was made', async () => {
      assert.deepEqual(await place.names(), [])
      const { made, where } = await place.receive(make(at), nothing)
      assert.ok(where.includes(backupName(at)) && where.includes(place.name), where)
      assert.deepEqual(await place.names(), [backupName(at)])
      const [found, store] = await place.open(
        backupName(at),
        async (folder) => {
          const manifest = await readManifest(folder)
          await checkFiles(folder, manifest, nothing)
          assert.ok(existsSync(join(folder, artifactPath(artifact.artifactId))))
          return [manifest, await readFile(join(folder, 'tidemark.sqlite'), 'utf8')] as const
        },
        nothing,
      )
      assert.deepEqual(found, made.manifest)
      assert.equal(store, 'a store')
    })

    test('names are in order of time, and only of what is whole', async () => {
      await place.receive(make(at - 30 * 24 * hour), nothing)
      await place.receive(make(at + hour), nothing)
      await fixture.leaveHalf(at + 2 * hour)
      await assert.rejects(
        place.receive(() => Promise.reject(new Error('the store is damaged')), nothing),
        /the store is damaged/,
      )
      assert.deepEqual(await place.names(), [at - 30 * 24 * hour, at, at + hour].map(backupName))
    })

    test('what is removed is gone with all of it, the others stay', async () => {
      await place.remove(backupName(at))
      assert.deepEqual(await place.names(), [at - 30 * 24 * hour, at + hour].map(backupName))
      assert.equal(await fixture.hasAnything(at), false)
      await assert.rejects(
        place.open(backupName(at), (folder) => readManifest(folder), nothing),
        (error) => error instanceof BackupError,
      )
    })

    test('what was begun long ago and is not whole is removed, what may be under way is not', async () => {
      await fixture.leaveHalf(at - 5 * hour)
      await place.removeUnfinished(at)
      assert.equal(await fixture.hasAnything(at - 5 * hour), false)
      assert.ok(await fixture.hasAnything(at + 2 * hour))
      assert.deepEqual(await place.names(), [at - 30 * 24 * hour, at + hour].map(backupName))
    })
  })
}
