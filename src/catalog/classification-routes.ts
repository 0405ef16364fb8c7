import { Type } from 'typebox'
import { consumerOf, scopeOf } from '../http/route.ts'
import type { TypedApp } from '../http/typed-app.ts'
import { idOf, named, orNull, pageSize, strict } from '../platform/validation.ts'
import type { CatalogStore } from './catalog-store.ts'
import { timeLimited } from './time-limited.ts'

const pageMax = 100

const Classification = named(
  'Classification',
  Type.Object({
    code: Type.String(),
    dataset_id: Type.String(),
    name: Type.String(),
    description: orNull(Type.String()),
    label_schema: Type.Record(Type.String(), Type.Unknown(), { description: 'As stored by the operator.' }),
  }),
)

export function classificationRoutes(
  app: TypedApp,
  { store, timeoutMs }: { store: CatalogStore; timeoutMs: number },
): void {
  app.get(
    '/v1/classifications',
    {
      config: {
        operation: 'classifications.list',
        invalid: 'invalid_classification_query',
        unavailable: 'catalog_unavailable',
        errors: ['entitlement_denied'],
      },
      schema: {
        tags: ['Catalog'],
        summary: 'List classifications',
        description:
          'Active classifications, ordered by code. Needs `facts`. A classification may have no documents that the application can read.',
        querystring: Type.Object(
          {
            dataset_id: idOf('dataset'),
            limit: pageSize(pageMax, pageMax),
            after_code: Type.Optional(
              Type.String({ minLength: 1, maxLength: 128, description: '`next_after_code` of the previous page.' }),
            ),
          },
          strict,
        ),
        response: {
          200: named(
            'ClassificationPage',
            Type.Object({
              classifications: Type.Array(Classification),
              next_after_code: orNull(Type.String(), { description: 'Null on the last page.' }),
            }),
          ),
        },
      },
    },
    async (request) => {
      const { dataset_id: datasetId, limit = pageMax, after_code: after = null } = request.query
      scopeOf(consumerOf(request), { datasets: [datasetId], needs: [['facts']] }, { datasets: 'dataset_id' })
      const found = await timeLimited(timeoutMs, () => store.classifications(datasetId, after, limit + 1))
      const page = found.slice(0, limit)
      return {
        classifications: page.map((one) => ({
          code: one.code,
          dataset_id: datasetId,
          name: one.name,
          description: one.description,
          label_schema: { ...one.labelSchema },
        })),
        next_after_code: found.length > limit ? page.at(-1)!.code : null,
      }
    },
  )
}
