import type { Static } from 'typebox'
import { Type } from '../schema-types.ts'
import { choices, named } from '../validation.ts'
import { analysisTypes } from './analysis-types.ts'
import type { quotaOperations } from './operations.ts'
import { policyDefaults } from './policy-defaults.ts'

const count = (description: string, least = 0) => Type.Integer({ minimum: least, maximum: 1_000_000_000, description })

/** What takes one of each. Each counts its own paths alone: `search` is no sum of the others. */
const quotaPaths: Readonly<Record<QuotaName, string>> = {
  search: '`POST /v1/search` and `POST /v1/contents/search`, whatever their `mode`',
  search_history: '`POST /v1/search/history`',
  search_keyword: '`POST /v1/search/keyword`',
  search_vector: '`POST /v1/search/vector`',
  search_hybrid: '`POST /v1/search/hybrid`, which the MCP tool `search` asks unless its arguments are for another mode',
  changes: '`GET /v1/changes`',
  export: '`GET /v1/export`',
}

export const Policy = named(
  'Policy',
  Type.Object(
    {
      analysis_enabled: Type.Optional(
        Type.Boolean({ default: false, description: 'Whether analysis may be used at all.' }),
      ),
      requests_per_second: Type.Optional(
        Type.Number({
          exclusiveMinimum: 0,
          maximum: 100_000,
          description: `Sustained rate; ${policyDefaults.requestsPerSecond} when absent.`,
        }),
      ),
      burst: Type.Optional(
        Type.Integer({
          minimum: 1,
          maximum: 1_000_000,
          description: 'Requests that may come at once after a pause; twice the rate when absent.',
        }),
      ),
      max_in_flight: Type.Optional(
        Type.Integer({
          minimum: 1,
          maximum: 100_000,
          description: `An addition: requests that may be under way at once in one process, from the first header to the last byte of the answer, reads of the change feed that wait included; ${policyDefaults.inFlight} when absent.`,
        }),
      ),
      daily_quotas: Type.Optional(
        named(
          'DailyQuotas',
          Type.Object(
            Object.fromEntries(
              Object.entries(quotaPaths).map(([name, paths]) => [
                name,
                Type.Optional(count(`Requests per UTC day to ${paths}; no limit when absent.`)),
              ]),
            ) as Record<QuotaName, ReturnType<typeof Type.Optional<ReturnType<typeof count>>>>,
            {
              additionalProperties: false,
              description:
                'Each counts its own paths alone: to limit all searches, set `search`, `search_history`, `search_keyword`, `search_vector` and `search_hybrid`.',
            },
          ),
        ),
      ),
      live: Type.Optional(
        named(
          'LivePolicy',
          Type.Object(
            {
              enabled: Type.Optional(Type.Boolean({ description: 'Whether live collection may be started.' })),
              max_items_per_platform: Type.Optional(count('Upper bound of `live.max_items_per_platform`.', 1)),
              max_concurrent: Type.Optional(count('Live queries under way at once.')),
              requests_per_minute: Type.Optional(count('Live queries started per minute.')),
            },
            { additionalProperties: false },
          ),
        ),
      ),
      analysis: Type.Optional(
        named(
          'AnalysisPolicy',
          Type.Object(
            {
              max_input_chunks: Type.Optional(
                count(`Input cap of a run; ${policyDefaults.analysisInputChunks} when absent.`, 1),
              ),
              max_concurrent_runs: Type.Optional(count('Unfinished runs at once.')),
              types: Type.Optional(
                choices(
                  'AnalysisType',
                  analysisTypes,
                  `An addition: the types of analysis that are executed, ${policyDefaults.analysisTypes.join(', ')} alone when absent. Runs of the others end \`failed\` with \`analysis_type_not_executed\`.`,
                ),
              ),
              scheduling: Type.Optional(
                Type.Boolean({
                  description:
                    'An addition: whether analysis subscriptions start runs; false when absent. These runs count among the unfinished ones, and wait while there are too many.',
                }),
              ),
            },
            { additionalProperties: false },
          ),
        ),
      ),
    },
    { additionalProperties: false, description: 'Switches and limits of an application.' },
  ),
)
export type Policy = Static<typeof Policy>

export type QuotaName = (typeof quotaOperations)[keyof typeof quotaOperations]
