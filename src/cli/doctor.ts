import { statSync } from 'node:fs'
import type { Command } from 'commander'
import { namedModels } from '../embedding/named-models.ts'
import { examineIndex, examineVectors } from '../indexing/examine-index.ts'
import type { BackupNote } from '../operator/backup-note.ts'
import { examineAccess, examineFolder, examineRuntime, examineSchema, failure } from '../operator/examine.ts'
import { examineBackups } from '../operator/examine-backups.ts'
import { examineHistory, isShown } from '../operator/examine-history.ts'
import { examineRemovals } from '../operator/examine-removals.ts'
import { examineClock } from '../operator/trusted-clock.ts'
import { type Config, ConfigError } from '../settings/config.ts'
import { examineArtifacts } from '../storage/artifact-stores.ts'
import { backendOf } from '../storage/backends.ts'
import { indexHomeOf } from '../storage/index-homes.ts'
import { removalRecordOf } from '../storage/removal-records.ts'
import type { Context } from './context.ts'
import { Examination } from './examination.ts'
import type { StoredProfiles } from './examine-endpoint.ts'
import { withWorkbench } from './with-workbench.ts'

const marks = { ok: '  ok   ', warning: '  note ', failure: '  FAIL ' } as const

/** Parts that can only be checked with an open store. */
const inStore = {
  access: 'datasets, applications and keys',
  history: 'the history of the store',
  clock: 'the clock',
  removals: 'the record of removals',
  index: 'the search index',
  vectors: 'chunks without a vector',
} as const

/** Values from the store that other steps need; null if they could not be read. */
interface StoreValues {
  readonly recorded: BackupNote | null
  readonly profiles: StoredProfiles | null
}

export function doctor(program: Command, context: Context): void {
  program
    .command('doctor')
    .description('Check the installation and say what to do about problems.')
    .action(async () => {
      const { config, faults } = settingsOf(context)
      // Throws on an unknown model name, as at the start of the server.
      namedModels(config)
      if (faults.length === 0) context.say('  ok    settings: all valid')
      const correct = 'correct it: the server does not start with it; the other checks ran as if it were not set'
      const findings = [
        ...faults.map((fault) => failure(fault, correct)),
        ...(await examineAll({ ...context, config: () => config }, config)),
      ]
      for (const { state, about, advice } of findings) {
        context.say(`${marks[state]} ${about}${advice === null ? '' : `\n         do: ${advice}`}`)
      }
      if (findings.some(({ state }) => state === 'failure')) context.fail()
    })
}

/** Faults in settings that do not say where a part of the instance is. The checks can run without these settings. */
const locatesNothing = /^TIDEMARK_(HOST|PORT|LOG_LEVEL|CORS_ORIGINS|\w+_MAX|\w+_MS|HYBRID_WEIGHTS) is /

function settingsOf(context: Context): { readonly config: Config; readonly faults: readonly string[] } {
  try {
    return { config: context.config(), faults: [] }
  } catch (error) {
    if (!(error instanceof ConfigError) || !error.faults.every((fault) => locatesNothing.test(fault))) throw error
    const unset = Object.fromEntries(error.faults.map((fault) => [fault.split(' ', 1)[0], '']))
    return { config: context.config(unset), faults: error.faults }
  }
}

async function examineAll(context: Context, config: Config) {
  const examination = new Examination()
  await examination.step('the runtime', async () => [examineRuntime()])
  for (const [part, examine] of examineFolder(config.dataDir)) await examination.step(part, examine)
  await examination.step(
    'the search cluster',
    () => indexHomeOf(config, null).examine(),
    'check that its nodes run, and that TIDEMARK_SEARCH_URL and its credentials are right',
  )
  const { recorded, profiles } = await examineStore(examination, context, config)
  await examination.step('the storage of artifacts', () => examineArtifacts(config))
  const { embeddingUrl, embeddingModel } = config
  if (embeddingUrl !== null && embeddingModel !== null) {
    await examination.step('the embedding endpoint', async () => {
      const { examineEndpoint } = await import('./examine-endpoint.ts')
      return [await examineEndpoint({ ...config, embeddingUrl, embeddingModel }, profiles ?? [])]
    })
  }
  await examination.step('backups', () => examineBackups(config.dataDir, recorded, Date.now()))
  return examination.findings
}

async function examineStore(examination: Examination, context: Context, config: Config): Promise<StoreValues> {
  let found: StoreValues = { recorded: null, profiles: null }
  const backend = backendOf(config)
  const seeToStore = backend.shared
    ? 'check that PostgreSQL runs, that this machine reaches it, and that the TIDEMARK_DATABASE_ settings are right; then run tidemark doctor again'
    : 'check that this user can read and write the files of the data folder, and that its disk works; then run tidemark doctor again'
  // A check must not create a missing folder.
  if (!isFolder(config.dataDir) && !backend.isThere()) return found
  const maintenance = await backend.maintenance()
  const schema = await maintenance.schema().catch((error: unknown) => {
    examination.failed('the store', 'opened', error, seeToStore)
    return null
  })
  await examination.step('how the store is kept', () => maintenance.examine())
  if (schema === null) {
    examination.leaveOut(...Object.values(inStore))
    return found
  }
  const { newest, breaking } = schema
  await examination.step('the version of the store', async () => {
    const otherVersion = examineSchema(newest, breaking, maintenance.newestSchema)
    return otherVersion === null ? [] : [otherVersion]
  })
  // Opening an older store would upgrade it.
  if (newest < maintenance.newestSchema) return found
  let isOpen = false
  try {
    await withWorkbench(context, async ({ operator: { read }, store }) => {
      isOpen = true
      const { indexSource } = store
      await examination.step(inStore.access, () => examineAccess(read))
      await examination.step(inStore.history, () => examineHistory(store.history, config.dataDir, Date.now()))
      await examination.step(inStore.clock, () => examineClock(store.clock, Date.now()))
      await examination.step(inStore.removals, async () => {
        const instance = await indexSource.instance()
        const loss = await store.history.lastLoss()
        return instance === null
          ? []
          : examineRemovals(removalRecordOf(config, instance), store.erasures, {
              nowMs: Date.now(),
              loss: isShown(loss, Date.now()) ? loss.historyId : null,
            })
      })
      await examination.step(inStore.index, async () =>
        examineIndex(indexSource, indexHomeOf(config, await indexSource.instance())),
      )
      await examination.step(inStore.vectors, () => examineVectors(indexSource))
      await examination.step('the record of backups and embedding models', async () => {
        found = { recorded: await read.recordedBackups(), profiles: await read.embeddingProfiles() }
        return []
      })
    })
  } catch (error) {
    examination.failed('the store', 'opened', error, seeToStore)
    if (!isOpen) examination.leaveOut(...Object.values(inStore))
  }
  return found
}

const isFolder = (path: string): boolean => {
  try {
    return statSync(path).isDirectory()
  } catch {
    // The step that opens the store reports the cause.
    return false
  }
}
