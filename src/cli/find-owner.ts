import type { Application, Collector, Key, OperatorStore } from '../operator/operator-store.ts'
import { TidemarkError } from '../platform/errors.ts'
import { quoted } from '../platform/quoted.ts'

type Reading = Omit<OperatorStore, 'commit'>

/** Finds an application by its id, or by its name if that is unique. */
export const findApplication = async (read: Reading, idOrName: string): Promise<Application> =>
  only(await read.applications(), 'application', (one) => one.applicationId, idOrName, 'tidemark app list')

export const findCollector = async (read: Reading, idOrName: string): Promise<Collector> =>
  only(await read.collectors(), 'collector', (one) => one.collectorId, idOrName, 'tidemark collector list')

/** A name finds only a token that is not revoked, because revoked tokens may have the same name. */
export function findToken(tokens: readonly Key[], idOrName: string): Key {
  const candidates = tokens
    .filter(({ keyId, revokedAt }) => keyId === idOrName || revokedAt === null)
    .map((key) => ({ key, name: key.name ?? '' }))
  return only(candidates, 'admin token', ({ key }) => key.keyId, idOrName, 'tidemark admin list').key
}

function only<T extends { readonly name: string }>(
  all: readonly T[],
  noun: string,
  idOf: (one: T) => string,
  idOrName: string,
  list: string,
): T {
  const byId = all.find((one) => idOf(one) === idOrName)
  if (byId !== undefined) return byId
  const named = all.filter(({ name }) => name === idOrName)
  if (named.length === 1) return named[0]!
  const shown = quoted(idOrName)
  if (named.length === 0) throw new TidemarkError('not_found', `there is no ${noun} ${shown}: ${list} shows all`)
  throw new TidemarkError(
    'conflict',
    `several ${noun}s are named ${shown}: use an ID, one of ${named.map(idOf).join(', ')}`,
  )
}

/** Returns notes about input that is allowed but probably a mistake: a missing dataset, or a name that is taken. */
export async function warningsAbout(
  read: Reading,
  { name, datasets, others }: { name: string; datasets: readonly string[]; others: readonly { name: string }[] },
): Promise<readonly string[]> {
  const known = (await read.datasets()).map(({ datasetId }) => datasetId)
  const unknown = datasets.filter((id) => !known.includes(id))
  const warnings: string[] = []
  if (unknown.length > 0) {
    const there = known.length === 0 ? 'no dataset exists' : `existing datasets: ${known.join(', ')}`
    warnings.push(`note: there is no dataset ${unknown.join(', ')} yet; ${there}`)
  }
  if (others.some((one) => one.name === name)) {
    warnings.push(`note: the name ${quoted(name)} is already in use: only the IDs differ`)
  }
  return warnings
}
