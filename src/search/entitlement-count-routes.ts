import { Type } from 'typebox'
import { compileScope } from '../access/compile-scope.ts'
import { EntitlementInput } from '../access/entitlement.ts'
import { scopeEntryOf } from '../access/scope-entry-of.ts'
import { abortSignalOf } from '../http/route.ts'
import type { TypedApp } from '../http/typed-app.ts'
import { named, noFields, strict } from '../platform/validation.ts'
import { listValues, type ValuesParts } from './list-values.ts'

/** Nearly every instance has fewer datasets than this, so one page is enough. */
const pageSize = 1000

export function entitlementCountRoutes(app: TypedApp, parts: ValuesParts): void {
  app.post(
    '/admin/v1/entitlements/count',
    {
      config: {
        operation: 'admin.entitlements.count',
        invalid: 'invalid_request',
        unavailable: 'catalog_unavailable',
        role: 'viewer',
      },
      schema: {
        tags: ['Admin'],
        summary: 'Count documents for entitlements',
        description:
          'Addition: how many documents an application with these entitlements could read. Changes nothing: use it with the current and the planned entitlements to see the effect of a change. Read from the search index, so new documents count a moment after they are stored; 503 while the index is incomplete or behind.',
        querystring: noFields,
        body: named(
          'EntitlementCountRequest',
          Type.Object({ entitlements: Type.Array(EntitlementInput, { maxItems: 1000 }) }, strict),
        ),
        response: {
          200: named(
            'EntitlementCount',
            Type.Object({
              documents: Type.Integer({
                description: 'Documents whose current version at least one of the entitlements allows.',
              }),
              datasets: Type.Array(
                named('EntitlementDatasetCount', Type.Object({ dataset_id: Type.String(), documents: Type.Integer() })),
                { description: 'The same by dataset, ordered by ID. Datasets without documents are left out.' },
              ),
            }),
          ),
        },
      },
    },
    async (request, reply) => {
      const access = compileScope(request.body.entitlements.map(scopeEntryOf), {})
      if (!access.allowed) return { documents: 0, datasets: [] }
      const caller = { id: 'operator', signal: abortSignalOf(reply) }
      const counted = { scope: access.scope, field: 'dataset', prefix: '', limit: pageSize } as const
      const datasets: { dataset_id: string; documents: number }[] = []
      let after: string | null = null
      do {
        const page = await listValues(parts, { ...counted, after }, caller)
        datasets.push(...page.values.map(({ value, count }) => ({ dataset_id: value, documents: count })))
        after = page.next
      } while (after !== null)
      return { documents: datasets.reduce((sum, one) => sum + one.documents, 0), datasets }
    },
  )
}
