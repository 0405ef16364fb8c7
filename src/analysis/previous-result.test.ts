import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, suite, test } from 'node:test'
import { parquetReadObjects } from 'hyparquet'
import { compressors } from 'hyparquet-compressors'
import { scopeEntryOf } from '../access/scope-entry-of.ts'
import { newId } from '../platform/ids.ts'
import { folderArtifactFiles } from '../storage/files/artifact-files.ts'
import { openSqliteStore } from '../storage/sqlite/open-sqlite-store.ts'
import type { Series } from './algorithm.ts'
import { assignmentColumns } from './algorithms/clustering/cluster-columns.ts'
import type { Run } from './analysis-store.ts'
import { type ComputeWork, computeInProcess } from './compute/compute-in-process.ts'
import type { Computed } from './compute/compute-process.ts'
import { TableFile } from './compute/table-file.ts'
import { executeRun } from './execute-run.ts'

const folder = mkdtempSync(join(tmpdir(), 'tidemark-series-'))
const open = await openSqliteStore(folder)
after(async () => {
  await open.close()
  rmSync(folder, { recursive: true, force: true })
})
const store = open.store.analysis
const artifactFolder = join(folder, 'artifacts')
const files = folderArtifactFiles(artifactFolder)
const applicationId = newId('app')
await open.store.operator.commit(
  [
    { kind: 'dataset.put', datasetId: 'news', name: 'News', description: null },
    {
      kind: 'application.create',
      applicationId,
      name: 'Test',
      policy: { analysis_enabled: true, analysis: { types: ['clustering'] } },
    },
    { kind: 'entitlements.put', applicationId, entitlements: [{ datasets: ['news'] }] },
  ],
  { actor: 'test', at: Date.now() },
)

/** Runs of one subscription. They have no documents, so their content comes from the previous run. */
class Subscribed {
  readonly #subscriptionId = newId('sub')
  #turn = 0
  /** The current time. */
  now = Date.now()

  static async begin(): Promise<Subscribed> {
    const one = new Subscribed()
    await store.addSubscription({
      subscriptionId: one.#subscriptionId,
      applicationId,
      name: 'Topics',
      analysisType: 'clustering',
      inputScope: { dataset_ids: ['news'] },
      executionMode: 'scheduled',
      embeddingProfileId: 'profile',
      parameters: null,
      intervalSeconds: 60,
      artifactRetentionDays: 1,
      paused: false,
      createdAt: one.now,
      updatedAt: one.now,
      checkpoint: null,
    })
    return one
  }

  async run(compute: (work: ComputeWork) => Promise<Computed>, days = 1): Promise<Run> {
    const started = await store.startRun({
      subscriptionId: this.#subscriptionId,
      afterTurn: this.#turn++,
      concurrentMax: null,
      run: {
        runId: newId('run', this.now),
        applicationId,
        analysisType: 'clustering',
        embeddingProfileId: 'profile',
        inputScope: { dataset_ids: ['news'] },
        parameters: { min_cluster_size: 5, resolution: 1 },
        inputCutoffAt: this.now,
        retentionDays: days,
        scope: { entries: [scopeEntryOf({ datasets: ['news'] })] },
        createdAt: this.now,
        expiresAt: this.now + days * 86_400_000,
      },
    })
    const workerId = newId('task')
    const run = (await store.takeRun({ workerId, now: this.now, until: this.now + 10_000 }))!
    assert.equal(run.runId, started!.runId)
    const { signal } = new AbortController()
    await executeRun(
      { run, workerId, signal, progress: () => {} },
      { store, files, compute, threads: 1, now: () => this.now },
    )
    return (await store.run(applicationId, run.runId))!
  }
}

/** Replaces a computation: records its input, and writes one chunk in one cluster. */
let given: Series | null
async function oneCluster({ job }: ComputeWork): Promise<Computed> {
  given = job.series
  const assignments = new TableFile(job.paths.assignments!, assignmentColumns)
  const ids = { subject_id: ['chk_1'], document_id: ['doc_1'], version_id: ['ver_1'], cluster_id: ['clu_1'] }
  assignments.write({ ...ids, strength: Float64Array.of(1) })
  const files: Record<string, ReturnType<typeof assignments.finish>> = { assignments: assignments.finish() }
  for (const [name, path] of Object.entries(job.paths)) {
    if (name === 'assignments') continue
    writeFileSync(path, name)
    files[name] = { rows: 0, bytes: name.length, sha256: createHash('sha256').update(name).digest('hex') }
  }
  return { files, cpuSeconds: 0, peakBytes: 0, numbers: {} }
}

async function fileOf({ runId }: Run, artifactName: string): Promise<string> {
  const { artifactId } = (await store.artifacts(runId)).find(({ name }) => name === artifactName)!
  return join(artifactFolder, `${artifactId}.parquet`)
}

suite('the result that a run of a subscription follows', () => {
  test('is empty for the first run, then that of the last success, and gives a cluster history', async () => {
    const subscribed = await Subscribed.begin()
    const first = await subscribed.run(oneCluster)
    assert.deepEqual([first.status, first.warnings], ['succeeded', []])
    assert.deepEqual(given, { runId: first.runId, turn: 1, cutoffAt: first.inputCutoffAt, before: null })
    const second = await subscribed.run(computeInProcess)
    assert.deepEqual([second.status, second.warnings], ['succeeded', []])
    assert.deepEqual(
      (await store.artifacts(second.runId)).map(({ name }) => name),
      ['assignments', 'clusters', 'cluster_history'],
    )
    const bytes = readFileSync(await fileOf(second, 'cluster_history'))
    const file = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length) as ArrayBuffer
    assert.deepEqual(await parquetReadObjects({ file, compressors }), [
      { cluster_id: 'clu_1', run_id: second.runId, status: 'gone', parent_cluster_ids: [], size: 0 },
    ])
  })

  test('a damaged, truncated, removed or expired result gives a warning, and the run succeeds', async () => {
    const subscribed = await Subscribed.begin()
    let last = await subscribed.run(oneCluster)
    const damages: ((path: string) => void)[] = [
      (path) => {
        const bytes = readFileSync(path)
        bytes[bytes.length >> 1]! ^= 1
        writeFileSync(path, bytes)
      },
      (path) => truncateSync(path, statSync(path).size - 1),
      (path) => rmSync(path),
      () => {
        subscribed.now += 2 * 86_400_000
      },
    ]
    for (const damage of damages) {
      damage(await fileOf(last, 'assignments'))
      last = await subscribed.run(oneCluster)
      assert.deepEqual([last.status, last.warnings, given!.before], ['succeeded', ['history_lost'], null])
      last = await subscribed.run(oneCluster)
      assert.deepEqual([last.status, last.warnings], ['succeeded', []])
      assert.deepEqual(Buffer.from(given!.before!), readFileSync(await fileOf(last, 'assignments')))
    }
  })

  test('only the last success is followed; if it is gone, an older one is not used instead', async () => {
    const subscribed = await Subscribed.begin()
    await subscribed.run(oneCluster, 9)
    await subscribed.run(oneCluster)
    subscribed.now += 2 * 86_400_000
    const third = await subscribed.run(oneCluster)
    assert.deepEqual([third.warnings, given!.before], [['history_lost'], null])
  })

  test('without an earlier success there is no warning', async () => {
    const subscribed = await Subscribed.begin()
    const tooLarge = Object.assign(new Error('too much'), { code: 'input_too_large' })
    assert.equal((await subscribed.run(() => Promise.reject(tooLarge))).status, 'failed')
    const second = await subscribed.run(oneCluster)
    assert.deepEqual([second.warnings, given!.turn, given!.before], [[], 2, null])
  })
})
