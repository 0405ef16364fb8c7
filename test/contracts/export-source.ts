import assert from 'node:assert/strict'
import { fieldPermissions, type Scope, type ScopeEntry } from '../../src/access/scope.ts'
import type { CatalogStore } from '../../src/catalog/catalog-store.ts'
import { documentAnswer, readableDocument } from '../../src/catalog/document-answer.ts'
import type { ExportedVersions, ExportPosition, ExportSource } from '../../src/export/export-source.ts'
import { formatOptionalTime, formatTime } from '../../src/platform/time.ts'

const entry = (fields: Partial<ScopeEntry>): ScopeEntry => ({
  datasets: ['d1', 'd2'],
  platforms: null,
  languages: null,
  regions: null,
  publishedFrom: null,
  publishedTo: null,
  fields: fieldPermissions,
  ...fields,
})

const scopes: readonly Scope[] = [
  { entries: [entry({})] },
  { entries: [entry({ datasets: ['d1'] })] },
  { entries: [entry({ languages: ['en'] })] },
  {
    entries: [
      entry({ datasets: ['d1'], platforms: ['p2'], languages: ['de'], fields: ['body', 'metadata'] }),
      entry({ datasets: ['d1', 'd2'], platforms: ['p1'], fields: ['title', 'metrics'] }),
    ],
  },
]

const ways = scopes.flatMap((scope) =>
  (['current', 'all'] as const).flatMap((versions) =>
    [1, 2, 1000].map((documentsMax) => ({ scope, versions, documentsMax })),
  ),
)
let checked = 0

/** Portions of any size, joined, equal what the catalog says of each document. Sizes differ from run to run. */
export async function checkExport(
  { exportSource, catalog }: { readonly exportSource: ExportSource; readonly catalog: CatalogStore },
  documentIds: readonly string[],
): Promise<void> {
  const { scope, versions, documentsMax } = ways[checked++ % ways.length]!
  const expected = await expectedLines(catalog, documentIds.toSorted(), scope, versions)
  const lines = await exported(exportSource, scope, versions, documentsMax)
  assert.deepEqual(lines, expected, `${versions} by ${documentsMax} for ${JSON.stringify(scope)}`)
}

async function exported(source: ExportSource, scope: Scope, versions: ExportedVersions, documentsMax: number) {
  const lines: unknown[] = []
  for (let after: ExportPosition | null = null; ; ) {
    const portion = await source.portion({ scope, after, versions, documentsMax })
    const own = portion.lines.split('\n').slice(0, -1)
    const documents = own.filter((line) => line.startsWith('{"type":"document"')).length
    assert.equal(portion.documents, documents)
    assert.ok(documents <= documentsMax)
    lines.push(...own.map((line) => JSON.parse(line)))
    if (portion.atEnd) return lines
    assert.notDeepEqual(portion.position, after, 'it gets on')
    after = portion.position
  }
}

async function expectedLines(
  catalog: CatalogStore,
  documentIds: readonly string[],
  scope: Scope,
  versions: ExportedVersions,
) {
  const lines: unknown[] = []
  /** Needs `body`, as the route does. */
  const withBody = { entries: scope.entries.filter(({ fields }) => fields.includes('body')) }
  for (const documentId of documentIds) {
    const [record] = await catalog.documents([documentId], { snapshot: false })
    const contentOf = async (versionId: string) => {
      const version =
        withBody.entries.length === 0 ? null : await catalog.version(record!.documentId, versionId, withBody)
      if (version === null) return null
      const seen = readableDocument({ ...record!, language: version.language ?? record!.language }, scope)!
      return {
        document_id: documentId,
        version_id: versionId,
        is_current: versionId === record!.currentVersionId,
        ...(seen.fields.has('title') ? { title: version.title } : {}),
        body: version.body,
        language: version.language,
        published_at: formatOptionalTime(version.publishedAt),
        created_at: formatTime(version.createdAt),
      }
    }
    const document = readableDocument(record!, scope)
    if (document !== null) {
      const content = await contentOf(record!.currentVersionId)
      lines.push({ type: 'document', document: documentAnswer(document), content })
    }
    if (versions === 'current') continue
    for (const { versionId } of (
      await catalog.versions(documentId, scope, { before: null, limit: 1000 })
    ).toReversed()) {
      const content = versionId === record!.currentVersionId ? null : await contentOf(versionId)
      if (content !== null) lines.push({ type: 'version', content })
    }
  }
  return lines
}
