import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { before, suite, test } from 'node:test'
import { type AnalysisWorld, startAnalysisWorld } from '../acceptance/analysis-world.ts'
import { checkDownload } from '../acceptance/check-download.ts'
import { documentOf } from '../acceptance/content.ts'
import { freshFolder, tidemark } from '../acceptance/harness.ts'
import { CutRelay } from '../support/cut-relay.ts'
import { addressOf, freshBucket, s3Endpoint, withoutS3 } from '../support/s3-server.ts'
import { until } from '../support/until.ts'

if (s3Endpoint === null) test('artifacts on S3', { skip: withoutS3 }, () => {})
else {
  suite('artifacts on S3', () => {
    let world: AnalysisWorld
    let relay: CutRelay
    let place: string
    const filesHere = (): string[] => {
      const folder = join(world.server.dataDir, 'artifacts')
      return existsSync(folder) ? readdirSync(folder) : []
    }

    before(async () => {
      relay = await CutRelay.to(Number(new URL(s3Endpoint!).port))
      place = `s3://${await freshBucket()}/results?endpoint=http://127.0.0.1:${relay.port}`
      world = await startAnalysisWorld({}, { TIDEMARK_ARTIFACTS_URL: place })
      await world.put(documentOf('a-1', { body: 'tide moon' }), documentOf('a-2', { body: 'tide tide harbour' }))
    })

    test('a result is kept in the bucket alone, and read through the server by ranges and tags', async () => {
      const { run_id: runId } = await world.succeeded({})
      await checkDownload(world, runId)
      assert.equal((await world.edges(runId)).length, 2)
      assert.deepEqual(filesHere(), [])
    })

    test('with the bucket away files are 503, and runs wait for it; nothing secret is logged', async () => {
      const { run_id: runId } = await world.succeeded({})
      const [artifact] = await world.artifacts(runId)
      relay.cut()
      const waiting = await world.create()
      for (const headers of [{}, { range: 'bytes=0-3' }]) {
        const answer = await world.download(runId, artifact!.artifact_id, headers)
        const { code, message } = (await answer.json()) as Record<string, string>
        assert.deepEqual([answer.status, code, answer.headers.get('retry-after')], [503, 'store_unavailable', '5'])
        assert.match(message!, /analysis results cannot be reached.*try again/)
      }
      // Requests that need no file still work.
      assert.equal((await world.artifacts(runId)).length, 1)
      await until('the log says why the run waits', () =>
        world.server.logs.some(({ job, err }) => job === 'analysis' && JSON.stringify(err).includes('127.0.0.1')),
      )
      relay.repair()
      assert.equal((await world.ended(waiting.run_id)).status, 'succeeded')
      assert.deepEqual(filesHere(), [])
      const secret = process.env.AWS_SECRET_ACCESS_KEY!
      assert.ok(!world.server.stderr.includes(secret) && !world.server.stderr.includes('Signature='))
    })

    test('doctor looks at the bucket, and says what to do where it cannot be used', async () => {
      const doctor = (url: string, env: Record<string, string> = {}) =>
        tidemark(['doctor'], { env: { TIDEMARK_ARTIFACTS_URL: url, ...env } })
      assert.match((await doctor(place)).stdout, /ok +artifacts are kept in s3:\/\/test-.*which responds/)
      const absent = await doctor(addressOf('there-is-no-such-bucket'))
      assert.equal(absent.code, 1)
      assert.match(absent.stdout, /FAIL +artifacts cannot be kept: .*404 NoSuchBucket\n +do: create the bucket/)
      const wrong = await doctor(place, { AWS_SECRET_ACCESS_KEY: 'hush-hush-hush' })
      assert.match(wrong.stdout, /FAIL +artifacts cannot be kept: .*403 .*\n +do: set the secret that belongs/)
      assert.ok(!`${wrong.stdout}${wrong.stderr}`.includes('hush'))
    })

    test('backups in a bucket have the results, are verified there, and restored from there into another bucket', async () => {
      const { run_id: runId } = await world.succeeded({})
      const { dataDir } = world.server
      const backups = addressOf(`${await freshBucket()}/backups`)
      const scratch = freshFolder()
      const env = { TIDEMARK_ARTIFACTS_URL: place, TMPDIR: scratch }
      const made = await tidemark(['backup', backups, '--keep', '2'], { dataDir, env })
      assert.equal(made.code, 0, made.stderr)
      assert.match(made.stdout, /2 documents and 2 events are in s3:\/\/test-.*: tidemark-backup-/)
      assert.doesNotMatch(made.stderr, /left out/)
      const good = await tidemark(['backup', 'verify', backups], { dataDir, env })
      assert.deepEqual([good.code, good.stdout.slice(0, 21)], [0, 'good: tidemark-backup'], good.stderr)
      const other = addressOf(`${await freshBucket()}/other`)
      await world.server.stop()
      const [name] = /tidemark-backup-\S+/.exec(made.stdout)!
      const restored = await tidemark(['restore', backups.replace('?', `/${name}?`), '--force'], {
        dataDir,
        env: { TIDEMARK_ARTIFACTS_URL: other, TMPDIR: scratch },
      })
      assert.equal(restored.code, 0, restored.stderr)
      assert.deepEqual(readdirSync(scratch), [])
      await world.server.start({ TIDEMARK_ARTIFACTS_URL: other })
      await checkDownload(world, runId)
    })

    test('where the address says so readers are sent to the bucket for whole files, and nowhere for parts', async () => {
      await world.server.restart({ TIDEMARK_ARTIFACTS_URL: `${place}&redirect=true` })
      const { run_id: runId } = await world.succeeded({})
      const [artifact] = await world.artifacts(runId)
      const url = world.fileUrl(runId, artifact!.artifact_id)
      const headers = { authorization: `Bearer ${world.key}` }
      const sent = await fetch(url, { headers, redirect: 'manual' })
      assert.deepEqual([sent.status, sent.headers.get('cache-control')], [302, 'no-store'])
      assert.equal(sent.headers.get('etag'), `"${artifact!.checksum.slice('sha256:'.length)}"`)
      const file = await fetch(sent.headers.get('location')!)
      const bytes = Buffer.from(await file.arrayBuffer())
      assert.equal(`sha256:${createHash('sha256').update(bytes).digest('hex')}`, artifact!.checksum)
      for (const [more, status] of [
        [{ range: 'bytes=0-3' }, 206],
        [{ range: `bytes=${artifact!.bytes}-` }, 416],
        [{ 'if-none-match': sent.headers.get('etag')! }, 304],
      ] as const) {
        assert.equal((await fetch(url, { headers: { ...headers, ...more }, redirect: 'manual' })).status, status)
      }
      const head = await fetch(url, { method: 'HEAD', headers, redirect: 'manual' })
      assert.deepEqual([head.status, head.headers.get('content-length')], [200, String(artifact!.bytes)])
      await world.server.stop()
      assert.ok(!world.server.stderr.includes('Signature='))
    })
  })
}
