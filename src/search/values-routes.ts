import { Type } from 'typebox'
import { permissionsNeeded } from '../document/filters.ts'
import { listedNames } from '../document/rows.ts'
import { cursorParameter } from '../http/query-parameters.ts'
import { callerOf, consumerOf, scopeOf } from '../http/route.ts'
import type { TypedApp } from '../http/typed-app.ts'
import type { Cursors } from '../platform/cursors.ts'
import { invalidField } from '../platform/errors.ts'
import { choice, exactPattern, idOf, named, pageSize, strict } from '../platform/validation.ts'
import { columnOf } from './column-permissions.ts'
import { searchLimits as limits } from './limits.ts'
import { listValues, type ValuesParts } from './list-values.ts'
import { ValueCount } from './present/facet-answer.ts'

export interface ValuesRouteParts extends ValuesParts {
  readonly cursors: Cursors
}

export function valuesRoutes(app: TypedApp, { cursors, ...parts }: ValuesRouteParts): void {
  app.get(
    '/v1/values/:field',
    {
      config: {
        operation: 'values.list',
        invalid: 'invalid_document_query',
        unavailable: 'catalog_unavailable',
        errors: ['entitlement_denied'],
      },
      schema: {
        tags: ['Catalog'],
        summary: 'List the values of a field',
        description:
          'Addition: the values of a field in the documents the application may read, with the number of documents for each, ordered by value (UTF-8 bytes). Read from the search index, so new documents count a moment after they are stored; 503 while the index is incomplete or behind. ' +
          `Permissions: ${permissionsNeeded(listedNames)}.`,
        params: Type.Object({ field: choice(listedNames, { description: 'The field whose values to list.' }) }),
        querystring: Type.Object(
          {
            prefix: Type.Optional(
              Type.String({
                maxLength: 512,
                pattern: exactPattern,
                description: 'Only values that start with this, case included.',
              }),
            ),
            dataset_id: Type.Optional(idOf('dataset')),
            limit: pageSize(limits.valuesMax, limits.valuesDefault),
            cursor: cursorParameter('`next_cursor` of the previous page. Send the same other parameters.'),
          },
          strict,
        ),
        response: {
          200: named(
            'ValuesPage',
            Type.Object({
              values: Type.Array(ValueCount),
              next_cursor: Type.Optional(Type.String({ description: 'Absent on the last page.' })),
            }),
          ),
        },
      },
    },
    async (request, reply) => {
      const consumer = consumerOf(request)
      const { field } = request.params
      const { prefix = '', dataset_id: datasetId = null, limit = limits.valuesDefault, cursor } = request.query
      const binding = ['values', consumer.applicationId, field, prefix, datasetId, limit]
      const opened = cursor === undefined ? null : await cursors.open<{ after: string }>(cursor, binding)
      if (opened?.ok === false) {
        const message = 'does not belong to this request: repeat it with unchanged parameters and limit'
        throw invalidField('invalid_document_query', 'cursor', message)
      }
      const column = columnOf(field)
      const needs = column === null ? [] : [column.openedBy]
      const datasets = datasetId === null ? null : [datasetId]
      const names = { datasets: 'dataset_id', ...(column && { [column.openedBy.join(' or ')]: 'field' }) }
      const scope = scopeOf(consumer, { datasets, needs }, names)
      const after = opened?.position.after ?? null
      const page = await listValues(parts, { scope, field, prefix, after, limit }, callerOf(request, reply))
      return {
        values: page.values.map(({ value, count }) => ({ value, count })),
        ...(page.next === null ? {} : { next_cursor: cursors.sign(binding, { after: page.next }) }),
      }
    },
  )
}
