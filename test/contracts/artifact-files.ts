import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { before, suite, test } from 'node:test'
import type { ArtifactFile, ArtifactFiles } from '../../src/analysis/artifact-files.ts'
import { newId } from '../../src/platform/ids.ts'

/** An empty folder or bucket for artifacts, and the leftovers of a crash in it. */
export interface ArtifactPlace {
  readonly files: ArtifactFiles
  /** Truncates the kept file, as damage would. */
  damage(artifactId: string): Promise<void>
  /** The leftovers of a process that dies while it writes or keeps a file. */
  readonly leftByCrash: readonly ((artifactId: string) => Promise<void>)[]
}

export const written = (artifactId: string, content: Buffer): ArtifactFile => ({
  artifactId,
  bytes: content.length,
  sha256: createHash('sha256').update(content).digest('hex'),
})

/**
 * The contract of every ArtifactFiles. `large` is a size that is kept in several steps, if an adapter has such steps.
 */
export function checkArtifactFiles(name: string, makePlace: () => Promise<ArtifactPlace>, large: number): void {
  suite(`artifact files: ${name}`, () => {
    let place: ArtifactPlace
    before(async () => {
      place = await makePlace()
    })

    const keep = async (content: Buffer): Promise<ArtifactFile> => {
      await place.files.prepare()
      const artifactId = newId('art')
      await writeFile(await place.files.draftPath(artifactId), content)
      const artifact = written(artifactId, content)
      await place.files.keep(artifact)
      return artifact
    }
    const bytesOf = async (artifact: ArtifactFile, start: number, end: number): Promise<Buffer | null> => {
      const stream = await place.files.read(artifact, start, end)
      return stream === null ? null : Buffer.concat(await stream.toArray())
    }
    /** The files that a process would find much later. */
    const found = () => place.files.untouchedSince(Date.now() + 3_600_000)

    test('what is kept is read as it was written, whole and by range, and its draft is gone', async () => {
      for (const size of [1, 1000, large]) {
        const content = randomBytes(size)
        const artifact = await keep(content)
        assert.ok((await bytesOf(artifact, 0, size - 1))?.equals(content), `${size} bytes`)
        for (const [start, end] of [
          [0, 0],
          [size - 1, size - 1],
          [size >> 2, size >> 1],
        ] as const) {
          assert.ok((await bytesOf(artifact, start, end))?.equals(content.subarray(start, end + 1)), `${start}-${end}`)
        }
        assert.equal(existsSync(await place.files.draftPath(artifact.artifactId)), false)
      }
    })

    test('what is not there, or not as it was written, is not read', async () => {
      const absent = written(newId('art'), Buffer.from('absent'))
      assert.equal(await place.files.read(absent, 0, 1), null)
      assert.equal(await place.files.addressOf(absent), null)
      const artifact = await keep(randomBytes(500))
      assert.equal(await place.files.read({ ...artifact, bytes: 501 }, 0, 1), null)
      assert.equal(await place.files.read({ ...artifact, bytes: 400 }, 0, 399), null)
      assert.equal(await place.files.read(artifact, 1, 0), null)
      await place.damage(artifact.artifactId)
      assert.equal(await place.files.read(artifact, 0, 499), null)
      assert.equal(await place.files.read(artifact, 499, 499), null)
    })

    test('a reader that goes away in the middle harms nobody', async () => {
      const content = randomBytes(large)
      const artifact = await keep(content)
      const stream = (await place.files.read(artifact, 0, large - 1))!
      for await (const _ of stream) break
      assert.ok(stream.destroyed)
      assert.ok((await bytesOf(artifact, 0, large - 1))?.equals(content))
    })

    test('what is removed is gone, and need not have been there', async () => {
      const artifact = await keep(randomBytes(10))
      await place.files.remove(artifact.artifactId)
      assert.equal(await place.files.read(artifact, 0, 9), null)
      await place.files.remove(artifact.artifactId)
      await place.files.remove(newId('art'))
    })

    test('what nobody has touched is found, kept or left by a crash, and can be removed; what is in use is not', async () => {
      const { artifactId } = await keep(randomBytes(10))
      const left = place.leftByCrash.map(() => newId('art'))
      for (const [i, leave] of place.leftByCrash.entries()) await leave(left[i]!)
      const early = await place.files.untouchedSince(Date.now() - 3_600_000)
      assert.deepEqual(
        [artifactId, ...left].filter((one) => early.includes(one)),
        [],
      )
      const later = await found()
      assert.deepEqual(
        [artifactId, ...left].filter((one) => !later.includes(one)),
        [],
      )
      for (const one of [artifactId, ...left]) await place.files.remove(one)
      const after = await found()
      assert.deepEqual(
        [artifactId, ...left].filter((one) => after.includes(one)),
        [],
      )
    })

    test('what is not the id of an artifact names no file', async () => {
      for (const artifactId of ['../elsewhere', 'art_', 'run_0123456789abcdefghjkmnpqrs', '']) {
        await assert.rejects(place.files.draftPath(artifactId), /not the id/)
        await assert.rejects(place.files.read(written(artifactId, Buffer.from('xy')), 0, 1), /not the id/)
        await assert.rejects(place.files.remove(artifactId), /not the id/)
      }
    })
  })
}
