import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { CreateMultipartUploadCommand, PutObjectCommand, S3Client, UploadPartCommand } from '@aws-sdk/client-s3'
import type { ArtifactFiles } from '../../src/analysis/artifact-files.ts'
import { TidemarkError } from '../../src/platform/errors.ts'
import { newId } from '../../src/platform/ids.ts'
import { parseS3Address } from '../../src/settings/s3-address.ts'
import { folderArtifactFiles } from '../../src/storage/files/artifact-files.ts'
import { bucketArtifactFiles } from '../../src/storage/s3/artifact-objects.ts'
import { Bucket } from '../../src/storage/s3/bucket.ts'
import { addressOf, freshBucket, s3Endpoint, s3Options, withoutS3 } from '../support/s3-server.ts'
import { checkArtifactFiles, written } from './artifact-files.ts'

/** The minimum size of a part of a multipart upload. */
const partBytes = 5 * 2 ** 20

if (s3Endpoint === null) test('artifact files: S3', { skip: withoutS3 }, () => {})
else {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-artifacts-'))
  const client = new S3Client(s3Options())
  after(() => {
    client.destroy()
    rmSync(folder, { recursive: true, force: true })
  })
  const drafts = folderArtifactFiles(join(folder, 'artifacts'))
  const placeAt = (text: string): ArtifactFiles => {
    const address = parseS3Address(text)!
    return bucketArtifactFiles(address, drafts, new Bucket(address, { partBytes }))
  }

  checkArtifactFiles(
    'S3',
    async () => {
      const bucket = await freshBucket()
      const files = placeAt(addressOf(`${bucket}/some/place`))
      const at = (artifactId: string) => ({ Bucket: bucket, Key: `some/place/${artifactId}.parquet` })
      return {
        files,
        async damage(artifactId) {
          await client.send(new PutObjectCommand({ ...at(artifactId), Body: 'short' }))
        },
        leftByCrash: [
          async (artifactId) => writeFile(await files.draftPath(artifactId), 'half'),
          async (artifactId) => {
            await client.send(new CreateMultipartUploadCommand(at(artifactId)))
          },
          async (artifactId) => {
            const { UploadId } = await client.send(new CreateMultipartUploadCommand(at(artifactId)))
            await client.send(new UploadPartCommand({ ...at(artifactId), UploadId, PartNumber: 1, Body: 'part' }))
          },
        ],
      }
    },
    2 * partBytes + 12_345,
  )

  suite('artifacts in a bucket', () => {
    let bucket: string
    before(async () => {
      bucket = await freshBucket()
    })
    const kept = async (files: ArtifactFiles, content: Buffer) => {
      const artifact = written(newId('art'), content)
      await writeFile(await files.draftPath(artifact.artifactId), content)
      await files.keep(artifact)
      return artifact
    }

    test('a file that is no longer what was computed is not kept, nor any part of it', async () => {
      const files = placeAt(addressOf(`${bucket}/changed`))
      for (const size of [1000, partBytes + 1]) {
        const artifact = written(newId('art'), randomBytes(size))
        await writeFile(await files.draftPath(artifact.artifactId), randomBytes(size))
        await assert.rejects(files.keep(artifact), /has changed since it was written/)
        assert.equal(await files.read(artifact, 0, 0), null)
        const unfinished = await new Bucket(parseS3Address(addressOf(`${bucket}/changed`))!).unfinished('')
        assert.deepEqual(unfinished, [])
      }
    })

    test('another file of the same size under its name is none of ours; one that another tool brought is', async () => {
      const files = placeAt(addressOf(`${bucket}/same-size`))
      const content = randomBytes(1000)
      const artifact = await kept(files, content)
      const at = { Bucket: bucket, Key: `same-size/${artifact.artifactId}.parquet` }
      assert.equal(await files.read({ ...artifact, sha256: 'ff' }, 0, 999), null)
      await client.send(new PutObjectCommand({ ...at, Body: content }))
      assert.ok(Buffer.concat(await (await files.read(artifact, 0, 999))!.toArray()).equals(content))
    })

    test('readers are sent to the bucket where the address says so, and get the file there without credentials', async () => {
      const content = randomBytes(1000)
      const artifact = await kept(placeAt(addressOf(`${bucket}/sent`)), content)
      assert.equal(await placeAt(addressOf(`${bucket}/sent`)).addressOf(artifact), null)
      const address = await placeAt(addressOf(`${bucket}/sent`, '&redirect=true')).addressOf(artifact)
      const answer = await fetch(address!)
      assert.equal(answer.status, 200)
      assert.equal(answer.headers.get('content-type'), 'application/vnd.apache.parquet')
      assert.match(answer.headers.get('content-disposition')!, new RegExp(`filename="${artifact.artifactId}.parquet"`))
      assert.ok(Buffer.from(await answer.arrayBuffer()).equals(content))
      const elsewhere = placeAt(addressOf(`${bucket}/sent`, '&redirect=https://files.example.com'))
      assert.equal(new URL((await elsewhere.addressOf(artifact))!).origin, 'https://files.example.com')
      // Without its signature the address opens nothing.
      const bare = new URL(address!)
      bare.search = ''
      assert.equal((await fetch(bare)).status, 403)
    })

    test('a bucket that is absent, denied or away is 503 store_unavailable; nothing secret is told, and drafts stay', async () => {
      const foreign = new Bucket(parseS3Address(addressOf(bucket))!, {
        credentials: {
          accessKeyId: process.env.TEST_S3_READER_KEY!,
          secretAccessKey: process.env.TEST_S3_READER_SECRET!,
        },
      })
      const address = parseS3Address(addressOf(bucket))!
      const places: readonly (readonly [RegExp, ArtifactFiles])[] = [
        [/404 NoSuchBucket/, placeAt(addressOf(`absent-${bucket.slice(5)}`))],
        [/ECONNREFUSED/, placeAt(`s3://${bucket}?endpoint=http://127.0.0.1:9`)],
        [/403 AccessDenied/, bucketArtifactFiles(address, drafts, foreign)],
      ]
      const isTold = (cause: RegExp) => (error: unknown) => {
        assert.ok(error instanceof TidemarkError && error.code === 'store_unavailable', String(error))
        assert.match((error.cause as Error).message, cause)
        const all = JSON.stringify([error, error.message, error.cause, (error.cause as Error).message])
        assert.ok(!all.includes('secret') && !all.includes('Signature'), all)
        return true
      }
      const content = randomBytes(10)
      for (const [cause, files] of places) {
        const artifact = written(newId('art'), content)
        await writeFile(await files.draftPath(artifact.artifactId), content)
        const isAway = !cause.source.includes('403')
        if (isAway) await assert.rejects(files.read(artifact, 0, 1), isTold(cause))
        if (isAway) await assert.rejects(files.untouchedSince(0), isTold(cause))
        // The test server creates a missing bucket on a write with sufficient rights.
        if (!cause.source.includes('404')) {
          await assert.rejects(files.prepare(), isTold(cause))
          await assert.rejects(files.keep(artifact), isTold(cause))
          assert.ok(readdirSync(join(folder, 'artifacts')).includes(`${artifact.artifactId}.partial`))
        }
      }
    })
  })
}
