import type { EntitlementEntry } from './answers.ts'

/** An entry as it is typed: lists as text with commas, days without a time. */
export interface Draft {
  readonly datasets: readonly string[]
  readonly platforms: string
  readonly languages: string
  readonly regions: string
  readonly from: string
  readonly to: string
  readonly fields: readonly string[]
}

export const fieldPermissions = ['title', 'body', 'author', 'metadata', 'facts', 'metrics'] as const

export const emptyDraft: Draft = {
  datasets: [],
  platforms: '',
  languages: '',
  regions: '',
  from: '',
  to: '',
  fields: fieldPermissions,
}

const listed = (values: readonly string[] | undefined): string => (values ?? []).join(', ')

export const draftOf = (entry: EntitlementEntry): Draft => ({
  datasets: entry.datasets,
  platforms: listed(entry.platforms),
  languages: listed(entry.languages),
  regions: listed(entry.regions),
  from: entry.published_from ?? '',
  to: entry.published_to ?? '',
  fields: entry.fields ?? fieldPermissions,
})

const split = (text: string): readonly string[] => [
  ...new Set(
    text
      .split(',')
      .map((one) => one.trim())
      .filter((one) => one !== ''),
  ),
]

/** A day starts at midnight UTC. Other text is sent unchanged, and the server refuses it if it is invalid. */
const time = (text: string): string =>
  /^\d{4}-\d{2}-\d{2}$/.test(text.trim()) ? `${text.trim()}T00:00:00Z` : text.trim()

/** Returns the entry for the API, without the lists that limit nothing. */
export function entryOf(draft: Draft): EntitlementEntry {
  const [platforms, languages, regions] = [draft.platforms, draft.languages, draft.regions].map(split)
  return {
    datasets: draft.datasets,
    ...(platforms!.length > 0 && { platforms: platforms! }),
    ...(languages!.length > 0 && { languages: languages! }),
    ...(regions!.length > 0 && { regions: regions! }),
    ...(draft.from.trim() !== '' && { published_from: time(draft.from) }),
    ...(draft.to.trim() !== '' && { published_to: time(draft.to) }),
    ...(draft.fields.length < fieldPermissions.length && { fields: draft.fields }),
  }
}
