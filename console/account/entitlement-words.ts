import type { Entitlement } from '../app/account.ts'

/** Returns an entitlement entry as a sentence. An absent or empty list limits nothing, except that no datasets means none. */
export function entitlementInWords(entry: Omit<Entitlement, 'entitlement_id'> & Partial<Entitlement>): string {
  const { published_from: from, published_to: to } = entry
  const parts = [
    `Documents of ${listed(entry.datasets, 'dataset', 'no dataset')}`,
    some(entry.platforms) ? `from ${listed(entry.platforms, 'platform')}` : 'from any platform',
    some(entry.languages) ? `in ${listed(entry.languages, 'language')}` : 'in any language',
    some(entry.regions) ? `of ${listed(entry.regions, 'region')}` : null,
    from && to
      ? `published from ${day(from)} and before ${day(to)}`
      : from
        ? `published since ${day(from)}`
        : to
          ? `published before ${day(to)}`
          : null,
  ].filter((part) => part !== null)
  const fields = some(entry.fields) ? `, with ${listed(entry.fields, 'field')}` : ', with every field'
  return `${parts.join(', ')}${fields}.`
}

const some = (list: readonly string[] | null | undefined): list is readonly string[] => (list ?? []).length > 0

function listed(names: readonly string[], kind: string, none = `any ${kind}`): string {
  if (names.length === 0) return none
  const [last, ...before] = names.toReversed()
  const text = before.length === 0 ? last : `${before.toReversed().join(', ')} and ${last}`
  return `the ${kind}${names.length === 1 ? '' : 's'} ${text}`
}

/**
 * Returns the date, with the time of day unless it is midnight. A leap second stays as it was written, because browsers
 * cannot parse one.
 */
const day = (time: string): string =>
  Number.isNaN(Date.parse(time))
    ? time
    : new Date(time)
        .toISOString()
        .replace('T00:00:00.000Z', '')
        .replace(/T(\d\d:\d\d)(?::00\.000)?(.*)Z$/, ' $1$2 UTC')
