import type { TProperties, TSchema } from 'typebox'
import type { AnalysisType } from '../access/analysis-types.ts'
import { type ErrorCode, TidemarkError } from '../errors.ts'
import { Type } from '../schema-types.ts'
import {
  describedBy,
  detailsOf,
  messageOf,
  named,
  orNull,
  strict,
  type Validator,
  validatorFor,
} from '../validation.ts'
import type { KeptParameters } from './algorithm.ts'
import { algorithmParameters, parameterEntries } from './algorithm-parameters.ts'
import { algorithms } from './algorithms.ts'
import { type Needs, needsOfVectors } from './input-scope.ts'

/**
 * The parameters of a request. What they may be is its type's own, and which type that is the schema of a request cannot
 * say: there any object passes, and OpenAPI tells of what is checked afterwards.
 */
export const RequestParameters = Type.Unsafe<Readonly<Record<string, unknown>>>({
  type: 'object',
  additionalProperties: true,
  [describedBy]: Type.Union(
    parameterEntries.map(([type, parameters]) => named(parametersOf(type), Type.Object(parameters, strict))),
    { description: 'The parameters of the chosen `analysis_type`.' },
  ),
})

/** As they are given back: every one, with its default or null where the request did not say it. */
export const AnsweredParameters = Type.Unsafe<KeptParameters | null>(
  Type.Union([
    ...parameterEntries.map(([type, parameters]) =>
      named(`Used${parametersOf(type)}`, Type.Object(answered(parameters))),
    ),
    Type.Null(),
  ]),
)

/** In the place where they stand in a request, so that a fault is told by its path there. */
const validators = new Map<AnalysisType, Validator>(
  parameterEntries.map(([type, parameters]) => [
    type,
    validatorFor(Type.Object({ parameters: Type.Object(parameters, strict) }), 'body'),
  ]),
)

/**
 * The parameters to keep with a run. A type that is not executed for the application keeps none; it may be asked with those
 * of `knn_graph`, which are all that the interface names.
 */
export function checkParameters(
  type: AnalysisType,
  given: Readonly<Record<string, unknown>>,
  isExecuted: boolean,
  invalid: ErrorCode = 'invalid_analysis_request',
): KeptParameters | null {
  const validate = validators.get(isExecuted ? type : 'knn_graph')!
  const request: { readonly parameters: Record<string, unknown> } = { parameters: { ...given } }
  if (!validate(request)) {
    const details = detailsOf(validate.errors)
    throw new TidemarkError(invalid, messageOf(details), { details })
  }
  if (!isExecuted) return null
  return Object.fromEntries(
    Object.keys(algorithmParameters[type]).map((name) => [name, request.parameters[name] ?? null]),
  )
}

/** What the input of a run must be open for. A run that is not executed is tested as if it were for vectors. */
export const needsOf = (type: AnalysisType, parameters: KeptParameters | null): Needs =>
  parameters === null ? needsOfVectors : algorithms[type].needs(parameters)

/** As `KnnGraphParameters`. */
function parametersOf(type: AnalysisType): string {
  return `${type.replace(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase())}Parameters`
}

function answered(parameters: TProperties): TProperties {
  const one = (schema: TSchema): TSchema => {
    // A copy is without the mark by which an object knows its optional fields.
    const copy = Type.Unsafe({ ...schema })
    return Type.IsOptional(schema) && !('default' in schema) ? orNull(copy) : copy
  }
  return Object.fromEntries(Object.entries(parameters).map(([name, schema]) => [name, one(schema)]))
}
