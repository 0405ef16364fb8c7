import { type Static, Type } from 'typebox'
import { IdempotencyHeaders } from '../http/make-once.ts'
import { NewestFirst, nextBefore, pageOf } from '../http/newest-first.ts'
import type { TypedApp } from '../http/typed-app.ts'
import { TidemarkError } from '../platform/errors.ts'
import { formatOptionalTime, formatTime } from '../platform/time.ts'
import { choice, dateTime, exactPattern, messageOf, named, noFields, orNull, strict } from '../platform/validation.ts'
import { about, actorOf, byId, route } from './admin-route.ts'
import { type Erasure, erasureStatuses, type Selection } from './erasure-store.ts'
import { authorNow, datasetNow, documentIdsMax, type Erasures } from './erasures.ts'
import type { Operator } from './operator.ts'
import * as schemas from './schemas.ts'

const text = (description: string) => Type.String({ minLength: 1, maxLength: 1000, pattern: exactPattern, description })

const options = {
  keep_tombstones: Type.Optional(
    Type.Boolean({
      default: true,
      description: 'Refuse the documents, with the outcome `erased`, if they are sent again.',
    }),
  ),
  purge_artifacts: Type.Optional(
    Type.Boolean({
      default: false,
      description: 'Also delete analysis runs that may contain one of the documents, with their artifacts.',
    }),
  ),
}

const ErasureInput = named(
  'ErasureRequest',
  Type.Object(
    {
      document_ids: Type.Optional(
        Type.Array(Type.String({ minLength: 1, maxLength: 128, pattern: exactPattern }), {
          minItems: 1,
          maxItems: documentIdsMax,
          description: 'Unknown IDs are ignored.',
        }),
      ),
      author: Type.Optional(
        named(
          'ErasedAuthor',
          Type.Object(
            {
              dataset_id: schemas.DatasetId,
              source_platform: text('The platform code.'),
              external_author_id: text('The ID of the author, as sent by collectors.'),
            },
            { ...strict, description: 'All documents that an author has now.' },
          ),
        ),
      ),
      dataset_id: Type.Optional(schemas.DatasetId),
      ...options,
    },
    { ...strict, description: 'Send exactly one of `document_ids`, `author` and `dataset_id`.' },
  ),
)

const ErasureAnswer = named(
  'Erasure',
  Type.Object({
    erasure_id: Type.String(),
    status: choice(erasureStatuses, {
      description:
        'Whatever the status, the documents can no longer be read. `completed`: their data is gone from the store and from the disks of every search index in use.',
    }),
    documents: Type.Integer({
      description: 'The number of documents processed so far. The others can no longer be read either.',
    }),
    removed: Type.Integer({
      description:
        'How many of these have been removed from the store so far, with everything known about them. After the last one, what is left in the feed, the search indexes and the files of the store is purged, and the erasure is `completed`.',
    }),
    created_at: dateTime,
    completed_at: orNull(dateTime),
    artifact_run_ids: Type.Array(Type.String(), {
      description:
        'Analysis runs whose input may have included one of the documents. Their artifacts contain IDs and counts.',
    }),
  }),
)

const TombstoneInput = named(
  'TombstoneRequest',
  Type.Object(
    {
      dataset_id: schemas.DatasetId,
      source_platform: text('The platform code.'),
      external_id: text('The ID on the platform, as sent by collectors.'),
    },
    strict,
  ),
)

const TombstonesAnswer = named(
  'LiftedTombstones',
  Type.Object({
    tombstones: Type.Integer({
      description: 'How many were lifted; with `dry_run`, how many would be. 0 if none are left.',
    }),
  }),
)

/** Leaves out the selection, because it can name a person. */
const erasureAnswer = (erasure: Erasure): Static<typeof ErasureAnswer> => ({
  erasure_id: erasure.erasureId,
  status: erasure.status,
  documents: erasure.documents,
  removed: erasure.removed,
  created_at: formatTime(erasure.createdAt),
  completed_at: formatOptionalTime(erasure.completedAt),
  artifact_run_ids: [...erasure.artifactRunIds],
})

export function erasureRoutes(app: TypedApp, erasures: Erasures, operator: Operator): void {
  app.delete(
    '/admin/v1/datasets/:dataset_id',
    {
      config: route('owner', 'admin.datasets.delete', 'not_found', 'in_use', 'conflict'),
      schema: {
        ...about(
          'Delete a dataset',
          '409 `in_use`, with counts in `details`, if it has documents or classifications, or if applications or collectors refer to it. With `force` its documents are erased without tombstones and its classifications deleted: from this response on it can neither be read nor written to, and it is gone when its last document is. Entitlements and collectors that refer to it are not changed.',
        ),
        params: byId('dataset_id'),
        querystring: schemas.DeleteQuery,
        response: { 202: ErasureAnswer, 204: Type.Null({ description: 'Deleted.' }) },
      },
    },
    async (request, reply) => {
      const datasetId = request.params.dataset_id!
      if (request.query.force === true) {
        const requested = { keepTombstones: false, purgeArtifacts: false, deletesDataset: true }
        const erasure = await erasures.eraseDataset(actorOf(request), datasetId, requested)
        return reply.status(202).header('location', addressOf(erasure)).send(erasureAnswer(erasure))
      }
      await operator.deleteDataset(actorOf(request), datasetId)
      return reply.status(204).send(null)
    },
  )
  app.delete(
    '/admin/v1/documents/:document_id',
    {
      config: route('operator', 'admin.documents.erase', 'not_found'),
      schema: {
        ...about(
          'Erase a document',
          'Erases a document with all its versions and everything derived from them. From this response on it can no longer be read; the erasure continues in the background.',
        ),
        params: byId('document_id'),
        querystring: Type.Object(options, strict),
        response: { 202: ErasureAnswer },
      },
    },
    async (request, reply) => {
      const { keep_tombstones: keepTombstones = true, purge_artifacts: purgeArtifacts = false } = request.query
      const selection = { documentIds: [request.params.document_id!] }
      const requested = { selection, keepTombstones, purgeArtifacts, mustExist: true }
      const erasure = await erasures.begin(actorOf(request), requested)
      return reply.status(202).header('location', addressOf(erasure)).send(erasureAnswer(erasure))
    },
  )
  app.post(
    '/admin/v1/erasures',
    {
      config: route('owner', 'admin.erasures.create', 'not_found', 'conflict'),
      schema: {
        ...about(
          'Erase documents',
          'Erases documents by ID, all documents of an author, or all that a dataset contains now. From this response on they can no longer be read, and feed readers that request `document.erased` are notified. The erasure continues in the background, also after a restart.',
        ),
        headers: IdempotencyHeaders,
        body: ErasureInput,
        response: { 202: ErasureAnswer },
      },
    },
    async (request, reply) => {
      const { keep_tombstones: keepTombstones = true, purge_artifacts: purgeArtifacts = false } = request.body
      const { dataset_id, author, document_ids } = request.body
      if ([dataset_id, author, document_ids].filter((one) => one !== undefined).length !== 1) {
        const details = [{ path: '', message: 'must have exactly one of document_ids, author and dataset_id' }]
        throw new TidemarkError('invalid_request', messageOf(details), { details })
      }
      const requested = { keepTombstones, purgeArtifacts, selection: selectionOf(request.body), mustExist: false }
      const erasure = await request.makeOnce(
        (claim) => erasures.begin(actorOf(request), requested, claim),
        (erasureId) => erasures.hide(erasureId, requested.selection),
      )
      return reply.status(202).header('location', addressOf(erasure)).send(erasureAnswer(erasure))
    },
  )
  app.get(
    '/admin/v1/erasures',
    {
      config: route('viewer', 'admin.erasures.list'),
      schema: {
        ...about('List erasures', 'Newest first.'),
        querystring: NewestFirst,
        response: {
          200: named(
            'ErasurePage',
            Type.Object({ erasures: Type.Array(ErasureAnswer), next_before: orNull(Type.String()) }),
          ),
        },
      },
    },
    async (request) => {
      const page = pageOf('ers', request.query)
      const found = await erasures.erasures(page)
      return { erasures: found.map(erasureAnswer), next_before: nextBefore(found, page.limit, (one) => one.erasureId) }
    },
  )
  app.get(
    '/admin/v1/erasures/:erasure_id',
    {
      config: route('viewer', 'admin.erasures.read', 'not_found'),
      schema: {
        ...about('Get an erasure'),
        params: byId('erasure_id'),
        querystring: noFields,
        response: { 200: ErasureAnswer },
      },
    },
    async (request) => erasureAnswer(await erasures.erasure(request.params.erasure_id!)),
  )
  app.delete(
    '/admin/v1/erasures/:erasure_id/tombstones',
    {
      config: route('owner', 'admin.erasures.lift', 'not_found', 'conflict'),
      schema: {
        ...about(
          'Lift the tombstones of an erasure',
          'All documents of the erasure are accepted again the next time they are sent, as new documents with new IDs. This does not restore any of them. 409 `conflict` while the erasure is still removing documents.',
        ),
        params: byId('erasure_id'),
        querystring: Type.Object(
          {
            dry_run: Type.Optional(
              Type.Boolean({ default: false, description: 'Only count the tombstones; lift none.' }),
            ),
          },
          strict,
        ),
        response: { 200: TombstonesAnswer },
      },
    },
    async (request) => {
      const dryRun = request.query.dry_run === true
      return { tombstones: await erasures.liftAll(actorOf(request), request.params.erasure_id!, { dryRun }) }
    },
  )
  app.delete(
    '/admin/v1/tombstones',
    {
      config: route('operator', 'admin.tombstones.lift', 'not_found'),
      schema: {
        ...about(
          'Lift the tombstone of a document',
          'The document is accepted again the next time it is sent, as a new document with a new ID.',
        ),
        body: TombstoneInput,
        response: { 204: Type.Null({ description: 'Lifted.' }) },
      },
    },
    async (request, reply) => {
      const { dataset_id: datasetId, source_platform: platform, external_id: externalId } = request.body
      await erasures.lift(actorOf(request), { datasetId, platform, externalId })
      return reply.status(204).send(null)
    },
  )
}

const addressOf = ({ erasureId }: Erasure): string => `/admin/v1/erasures/${erasureId}`

function selectionOf({ document_ids, author, dataset_id }: Static<typeof ErasureInput>): Selection {
  if (dataset_id !== undefined) return datasetNow(dataset_id)
  if (author === undefined) return { documentIds: document_ids! }
  const { dataset_id: datasetId, source_platform: platform, external_author_id: externalAuthorId } = author
  return authorNow({ datasetId, platform, externalAuthorId })
}
