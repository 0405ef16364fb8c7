import { type Static, Type } from 'typebox'
import { choices, named } from '../platform/validation.ts'
import { analysisTypes } from './analysis-types.ts'
import type { quotaOperations } from './operations.ts'
import { policyDefaults } from './policy-defaults.ts'

const count = (description: string, least = 0) => Type.Integer({ minimum: least, maximum: 1_000_000_000, description })

/**
 * The operations that take a unit of each quota. Each counts only its own paths: `search` is not the sum of the others.
 */
const quotaPaths: Readonly<Record<QuotaName, string>> = {
  search: '`POST /v1/search` and `POST /v1/contents/search`, whatever their `mode`',
  search_history: '`POST /v1/search/history`',
  search_keyword: '`POST /v1/search/keyword`',
  search_vector: '`POST /v1/search/vector`',
  search_hybrid: '`POST /v1/search/hybrid`, which the MCP tool `search` uses unless its arguments select another mode',
  changes: '`GET /v1/changes`',
  export: '`GET /v1/export`',
}

export const Policy = named(
  'Policy',
  Type.Object(
    {
      analysis_enabled: Type.Optional(
        Type.Boolean({ default: false, description: 'Whether the application may use analysis.' }),
      ),
      requests_per_second: Type.Optional(
        Type.Number({
          exclusiveMinimum: 0,
          maximum: 100_000,
          description: `Sustained rate. Default: ${policyDefaults.requestsPerSecond}.`,
        }),
      ),
      burst: Type.Optional(
        Type.Integer({
          minimum: 1,
          maximum: 1_000_000,
          description: 'Requests allowed at once after a pause. Default: twice the rate.',
        }),
      ),
      max_in_flight: Type.Optional(
        Type.Integer({
          minimum: 1,
          maximum: 100_000,
          description: `Addition: concurrent requests per server process, from the first header to the last byte of the response, including waiting reads of the change feed. Default: ${policyDefaults.inFlight}.`,
        }),
      ),
      daily_quotas: Type.Optional(
        named(
          'DailyQuotas',
          Type.Object(
            Object.fromEntries(
              Object.entries(quotaPaths).map(([name, paths]) => [
                name,
                Type.Optional(count(`Requests per UTC day to ${paths}. Default: no limit.`)),
              ]),
            ) as Record<QuotaName, ReturnType<typeof Type.Optional<ReturnType<typeof count>>>>,
            {
              additionalProperties: false,
              description:
                'Each quota counts only its own paths, and every request from the moment its work begins, even if it then fails with a 503; refused requests are not counted. To limit all searches, set `search`, `search_history`, `search_keyword`, `search_vector` and `search_hybrid`.',
            },
          ),
        ),
      ),
      live: Type.Optional(
        named(
          'LivePolicy',
          Type.Object(
            {
              enabled: Type.Optional(
                Type.Boolean({ description: 'Whether the application may start live collection.' }),
              ),
              max_items_per_platform: Type.Optional(count('The maximum for `max_items_per_platform` in requests.', 1)),
              max_concurrent: Type.Optional(count('Concurrent live queries.')),
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
                count(`The maximum input of a run, in chunks. Default: ${policyDefaults.analysisInputChunks}.`, 1),
              ),
              max_concurrent_runs: Type.Optional(count('The maximum number of unfinished runs.')),
              types: Type.Optional(
                choices(
                  'AnalysisType',
                  analysisTypes,
                  `Addition: the types of analysis that are executed. Default: only ${policyDefaults.analysisTypes.join(', ')}. Runs of other types end \`failed\` with \`analysis_type_not_executed\`.`,
                ),
              ),
              scheduling: Type.Optional(
                Type.Boolean({
                  description:
                    'Addition: whether analysis subscriptions start runs. Default: false. These runs count towards `max_concurrent_runs`, and wait while it is reached.',
                }),
              ),
            },
            { additionalProperties: false },
          ),
        ),
      ),
    },
    { additionalProperties: false, description: 'What an application may use, and its limits.' },
  ),
)
export type Policy = Static<typeof Policy>

export type QuotaName = (typeof quotaOperations)[keyof typeof quotaOperations]
