import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, suite, test } from 'node:test'
import { until } from '../../test/support/until.ts'
import type { AnalysisStore, NewRun, Run } from '../analysis/analysis-store.ts'
import type { ComputeWork } from '../analysis/compute/compute-in-process.ts'
import type { ExecutionParts } from '../analysis/execute-run.ts'
import { AnalysisRuns } from '../analysis/runs.ts'
import type { TidemarkError } from '../platform/errors.ts'
import { newId } from '../platform/ids.ts'
import { silentIncidents } from '../platform/incidents.ts'
import { folderArtifactFiles } from '../storage/files/artifact-files.ts'
import { openSqliteStore } from '../storage/sqlite/open-sqlite-store.ts'
import { applyRetention, removeAbandoned, startAnalysis, type WorkerParts } from './analysis.ts'

const folder = mkdtempSync(join(tmpdir(), 'tidemark-worker-'))
const open = await openSqliteStore(folder)
after(async () => {
  await open.close()
  rmSync(folder, { recursive: true, force: true })
})
const store = open.store.analysis
const nothing = (): void => {}
const logger = { info: nothing, warn: nothing, error: nothing }
const applicationId = newId('app')
await open.store.operator.commit(
  [
    { kind: 'dataset.put', datasetId: 'news', name: 'News', description: null },
    { kind: 'application.create', applicationId, name: 'Test', policy: { analysis_enabled: true } },
    { kind: 'entitlements.put', applicationId, entitlements: [{ datasets: ['news'] }] },
  ],
  { actor: 'test', at: Date.now() },
)

const everything = {
  entries: [
    {
      datasets: ['news'],
      platforms: null,
      languages: null,
      regions: null,
      publishedFrom: null,
      publishedTo: null,
      fields: ['body' as const],
    },
  ],
}

async function addRun(changes: Partial<NewRun> = {}): Promise<string> {
  const now = Date.now()
  const runId = newId('run', now)
  const run: NewRun = {
    runId,
    applicationId,
    analysisType: 'knn_graph',
    embeddingProfileId: 'profile',
    inputScope: { dataset_ids: ['news'] },
    parameters: { k: 3, min_similarity: null },
    inputCutoffAt: now,
    retentionDays: 1,
    scope: everything,
    createdAt: now,
    expiresAt: now + 86_400_000,
    ...changes,
  }
  await store.addRun(run, null)
  return runId
}

async function ended(runId: string): Promise<Run> {
  for (;;) {
    const run = await store.run(applicationId, runId)
    if (run !== null && !['queued', 'validating', 'running'].includes(run.status)) return run
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}

/** Writes a small file instead of a graph. */
const quick = async ({ job }: ComputeWork) => {
  writeFileSync(job.paths.edges!, 'file')
  return { files: { edges: { rows: 1, bytes: 4, sha256: 'ab' } }, cpuSeconds: 0, peakBytes: 0, numbers: {} }
}

let folders = 0
function partsWith(compute: ExecutionParts['compute'], more: Partial<ExecutionParts> = {}) {
  const artifacts = join(folder, `artifacts-${folders++}`)
  const parts: WorkerParts = {
    store,
    files: folderArtifactFiles(artifacts),
    compute,
    threads: 1,
    now: Date.now,
    clock: { trusts: async () => true },
    ...more,
  }
  return { parts, artifacts }
}

suite('the worker of analysis runs', () => {
  test('a run that the policy does not allow, or that turns out to be too large, fails without a retry', async () => {
    let computed = 0
    const { parts, artifacts } = partsWith(async () => {
      computed++
      throw Object.assign(new Error('the input is too large'), { code: 'input_too_large' })
    })
    const worker = startAnalysis(parts, silentIncidents, logger)
    const large = await addRun()
    const unnamed = await addRun({ analysisType: 'feature_rollup', parameters: { by: ['tag'], bucket: null } })
    worker.wake()
    assert.deepEqual((await ended(large)).error, {
      code: 'input_too_large',
      message: 'the input is too large',
    })
    assert.equal((await ended(unnamed)).error!.code, 'analysis_type_not_executed')
    assert.equal(computed, 1)
    await worker.stop()
    assert.deepEqual(readdirSync(artifacts), [])
  })

  test('a worker that exited in any state is replaced by another, and the run ends', async () => {
    const dead = newId('task')
    const leaseMs = 600_000
    const take = () => store.takeRun({ workerId: dead, now: Date.now(), until: Date.now() + leaseMs })
    const validating = await addRun()
    assert.equal((await take())!.runId, validating)
    const running = await addRun()
    assert.equal((await take())!.runId, running)
    assert.ok(await store.beginRun(running, dead, { chunks: 0, documents: 0, withoutVector: 0 }, []))
    const queued = await addRun()
    const ids = [queued, validating, running]
    // Advances its clock past the end of the lease: waiting for that would guess how long the earlier steps took.
    const { parts } = partsWith(quick, { now: () => Date.now() + leaseMs })
    const worker = startAnalysis(parts, silentIncidents, logger)
    for (const runId of ids) assert.equal((await ended(runId)).status, 'succeeded')
    await worker.stop()
    assert.equal(await store.endRun(ids[0]!, dead, { at: Date.now(), error: { code: 'internal', message: '' } }), false)
  })

  test('two workers share the runs, each run is computed once', async () => {
    const computed: string[] = []
    const { parts } = partsWith(async (work) => {
      computed.push(work.job.paths.edges!)
      await new Promise((resolve) => setTimeout(resolve, 20))
      return quick(work)
    })
    const ids = await Promise.all(Array.from({ length: 8 }, () => addRun()))
    const workers = [startAnalysis(parts, silentIncidents, logger), startAnalysis(parts, silentIncidents, logger)]
    for (const runId of ids) assert.equal((await ended(runId)).status, 'succeeded')
    await Promise.all(workers.map((worker) => worker.stop()))
    assert.equal(computed.length, ids.length)
  })

  test('a failed computation is retried, but not forever', async () => {
    let failures = 2
    const { parts, artifacts } = partsWith(async (work) => {
      if (failures-- > 0) {
        writeFileSync(work.job.paths.edges!, 'half')
        throw new Error('out of memory')
      }
      return quick(work)
    })
    const worker = startAnalysis(parts, silentIncidents, logger)
    const lucky = await addRun()
    worker.wake()
    assert.equal((await ended(lucky)).status, 'succeeded')
    failures = Number.POSITIVE_INFINITY
    const hopeless = await addRun()
    worker.wake()
    const run = await ended(hopeless)
    assert.deepEqual([run.status, run.error!.code], ['failed', 'internal'])
    await worker.stop()
    assert.equal(readdirSync(artifacts).length, 1, 'nothing is left of failures')
  })

  /** Computes until aborted, with a draft on disk. */
  const endless = async ({ job, signal }: ComputeWork): Promise<never> => {
    signal.throwIfAborted()
    writeFileSync(job.paths.edges!, 'half')
    return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
  }
  const runningOf = async (target: AnalysisStore, runId: string) => {
    while ((await target.run(applicationId, runId))!.status !== 'running') {
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
  }

  /** The first draft creates the folder, after the run is marked as running. */
  const filesIn = (artifacts: string): string[] => (existsSync(artifacts) ? readdirSync(artifacts) : [])
  const draftIn = async (artifacts: string): Promise<void> => {
    while (filesIn(artifacts).length === 0) await new Promise((resolve) => setTimeout(resolve, 5))
  }

  test('a cancellation in this or another process is noticed', async () => {
    for (const here of [false, true]) {
      const { parts, artifacts } = partsWith(endless)
      const worker = startAnalysis(parts, silentIncidents, logger)
      const runId = await addRun()
      worker.wake()
      await runningOf(store, runId)
      await draftIn(artifacts)
      await store.cancelRun(applicationId, runId, Date.now())
      if (here) worker.cancelled(runId)
      await until('nothing is left of it', () => filesIn(artifacts).length === 0)
      await worker.stop()
      assert.equal((await store.run(applicationId, runId))!.status, 'cancelled')
    }
  })

  test('a worker that stops releases its run, and the next one takes it', async () => {
    const { parts, artifacts } = partsWith(endless)
    const first = startAnalysis(parts, silentIncidents, logger)
    const runId = await addRun()
    first.wake()
    await runningOf(store, runId)
    await draftIn(artifacts)
    await first.stop()
    assert.deepEqual(filesIn(artifacts), [])
    const second = startAnalysis(partsWith(quick).parts, silentIncidents, logger)
    assert.equal((await ended(runId)).status, 'succeeded')
    await second.stop()
  })

  test('a full disk does not count as a failure of the run: it waits for space, however often it was taken before', async () => {
    const runId = await addRun()
    const dead = newId('task')
    for (let i = 0; i < 2; i++) await store.takeRun({ workerId: dead, now: Date.now(), until: Date.now() - 1 })
    let full = true
    const { parts } = partsWith((work) => {
      if (!full) return quick(work)
      full = false
      return Promise.reject(Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' }))
    })
    const reported: string[] = []
    const incidents = {
      failed: (job: string, error: unknown) => reported.push(`${job} ${(error as TidemarkError).code}`),
      worked: () => {},
    }
    const worker = startAnalysis(parts, incidents, logger)
    const run = await ended(runId)
    await worker.stop()
    assert.equal(run.status, 'succeeded')
    assert.deepEqual(reported, ['analysis storage_full'])
  })

  test('a run that kills its worker every time is abandoned', async () => {
    const runId = await addRun()
    const dead = newId('task')
    for (let i = 0; i < 12; i++) await store.takeRun({ workerId: dead, now: Date.now(), until: Date.now() - 1 })
    const worker = startAnalysis(partsWith(quick).parts, silentIncidents, logger)
    const run = await ended(runId)
    await worker.stop()
    assert.deepEqual([run.status, run.error!.code], ['failed', 'internal'])
  })

  test('when a run expires its files are removed; 30 days later the run is removed', async () => {
    const { parts, artifacts } = partsWith(quick)
    const worker = startAnalysis(parts, silentIncidents, logger)
    const runId = await addRun()
    worker.wake()
    const { expiresAt } = await ended(runId)
    await worker.stop()
    const [artifact] = await store.artifacts(runId)
    const kept = join(artifacts, `${artifact!.artifactId}.parquet`)
    assert.ok(existsSync(kept))
    const consumer = { applicationId } as never
    let now = expiresAt - 1
    const runs = new AnalysisRuns({ ...parts, added: nothing, cancelled: nothing, now: () => now })
    assert.equal((await runs.read(consumer, runId)).status, 'succeeded')
    assert.equal((await runs.artifacts(consumer, runId)).artifacts.length, 1)
    now = expiresAt
    // Before and after retention has run.
    for (const applied of [false, true]) {
      if (applied) await applyRetention({ ...parts, now: () => now })
      assert.equal((await runs.read(consumer, runId)).status, 'expired')
      assert.deepEqual((await runs.artifacts(consumer, runId)).artifacts, [])
      await assert.rejects(runs.artifact(consumer, runId, artifact!.artifactId), {
        code: 'analysis_artifact_not_found',
      })
      await assert.rejects(runs.cancel(consumer, runId), { code: 'analysis_run_finished' })
    }
    assert.ok(!existsSync(kept))
    now = expiresAt + 30 * 86_400_000
    await assert.rejects(runs.read(consumer, runId), { code: 'analysis_not_found' })
    await applyRetention({ ...parts, now: () => now })
    assert.equal(await store.run(applicationId, runId), null)
  })

  test('old files that belong to no artifact are removed', async () => {
    const { parts, artifacts } = partsWith(quick)
    const worker = startAnalysis(parts, silentIncidents, logger)
    const runId = await addRun()
    worker.wake()
    await ended(runId)
    await worker.stop()
    const [known] = readdirSync(artifacts)
    const [old, fresh] = [newId('art'), newId('art')]
    for (const name of [`${old}.partial`, `${old}.parquet`, `${fresh}.partial`, 'notes.txt']) {
      writeFileSync(join(artifacts, name), 'x')
    }
    const longAgo = new Date(Date.now() - 7_200_000)
    for (const name of [known!, `${old}.partial`, `${old}.parquet`, 'notes.txt']) {
      utimesSync(join(artifacts, name), longAgo, longAgo)
    }
    await removeAbandoned(parts)
    assert.deepEqual(readdirSync(artifacts).sort(), [known!, `${fresh}.partial`, 'notes.txt'].sort())
  })
})
