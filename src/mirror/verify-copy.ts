import { type ConsumerClient, pageMax } from './consumer-client.ts'
import { copiedDocument, differingFields } from './copied-document.ts'
import type { CopiedDocument, Copy } from './copy.ts'

export interface Difference {
  readonly id: string
  /** `missing`: not in the copy. `superfluous`: not on the server, or not readable by this application. */
  readonly what: 'missing' | 'superfluous' | 'other'
  readonly fields: readonly string[]
}

export interface VerifyParts {
  readonly client: ConsumerClient
  readonly copy: Copy
  /** Updates the copy. */
  readonly follow: () => Promise<void>
  readonly differs: (difference: Difference) => void
  readonly report: (documents: number) => void
}

/** The maximum number of checks of a differing document. A document that keeps changing may differ in all of them. */
const checksMax = 3
const portion = 1000

/**
 * Compares an up-to-date copy, field by field, with a new export. The server keeps changing meanwhile, so documents
 * that differ are read again, first from the server, then from the updated copy. Only documents that still differ are
 * reported.
 *
 * Returns the numbers of equal and of different documents.
 */
export async function verifyCopy(parts: VerifyParts): Promise<{ readonly equal: number; readonly different: number }> {
  const { client, copy, report } = parts
  const counts = { equal: 0, different: 0 }
  let suspects: string[] = []
  const settle = async (): Promise<void> => {
    const { equal, different } = await recheck(parts, suspects)
    counts.equal += equal
    counts.different += different
    suspects = []
  }
  const suspect = async (id: string): Promise<void> => {
    suspects.push(id)
    if (suspects.length === pageMax) await settle()
  }
  const copied = inOrder(copy)
  let ours = await copied.next()
  let last = ''
  for await (const line of client.export(null)) {
    if (line.type !== 'document') continue
    const theirs = copiedDocument(line.document, line.content)
    // It was already received before the connection broke.
    if (theirs.id <= last) continue
    last = theirs.id
    while (!ours.done && ours.value.id < theirs.id) {
      await suspect(ours.value.id)
      ours = await copied.next()
    }
    if (ours.done || ours.value.id > theirs.id) await suspect(theirs.id)
    else {
      if (differingFields(ours.value, theirs).length > 0) await suspect(theirs.id)
      else counts.equal++
      ours = await copied.next()
    }
    if (counts.equal % portion === 0) report(counts.equal)
  }
  for (; !ours.done; ours = await copied.next()) await suspect(ours.value.id)
  await settle()
  return counts
}

async function* inOrder(copy: Copy): AsyncGenerator<CopiedDocument, void> {
  for (let after = ''; ; ) {
    const documents = await copy.after(after, portion)
    yield* documents
    if (documents.length === 0) return
    after = documents.at(-1)!.id
  }
}

async function recheck({ client, copy, follow, differs }: VerifyParts, ids: readonly string[]) {
  let differing = new Map<string, Difference | null>(ids.map((id) => [id, null]))
  let equal = 0
  for (let check = 0; check < checksMax && differing.size > 0; check++) {
    const { documents } = await client.documents([...differing.keys()])
    await follow()
    const theirs = byId(documents.map((one) => copiedDocument(one, one.content)))
    const ours = byId(await copy.read([...differing.keys()]))
    const still = new Map<string, Difference | null>()
    for (const id of differing.keys()) {
      const difference = compare(id, ours.get(id), theirs.get(id))
      if (difference !== null) still.set(id, difference)
      // Missing on both sides counts as equal, but not as a document.
      else if (ours.has(id)) equal++
    }
    differing = still
  }
  for (const difference of differing.values()) differs(difference!)
  return { equal, different: differing.size }
}

function compare(id: string, ours: CopiedDocument | undefined, theirs: CopiedDocument | undefined): Difference | null {
  if (ours === undefined || theirs === undefined) {
    return ours === theirs ? null : { id, what: ours === undefined ? 'missing' : 'superfluous', fields: [] }
  }
  const fields = differingFields(ours, theirs)
  return fields.length === 0 ? null : { id, what: 'other', fields }
}

const byId = (documents: readonly CopiedDocument[]): ReadonlyMap<string, CopiedDocument> =>
  new Map(documents.map((one) => [one.id, one]))
