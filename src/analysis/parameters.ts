import { type TProperties, type TSchema, Type } from 'typebox'
import type { AnalysisType } from '../access/analysis-types.ts'
import { type ErrorCode, TidemarkError } from '../platform/errors.ts'
import {
  describedBy,
  detailsOf,
  messageOf,
  named,
  orNull,
  strict,
  type Validator,
  validatorFor,
} from '../platform/validation.ts'
import type { KeptParameters } from './algorithm.ts'
import { algorithmEntries, algorithms } from './algorithms.ts'
import { type Needs, needsOfVectors } from './input-scope.ts'

/**
 * The parameters of a request. They depend on the analysis type, which the schema of a request cannot express. So any
 * object passes the schema, OpenAPI documents each type, and `checkParameters` does the check.
 */
export const RequestParameters = Type.Unsafe<Readonly<Record<string, unknown>>>({
  type: 'object',
  additionalProperties: true,
  [describedBy]: Type.Union(
    algorithmEntries.map(([type, { parameters }]) => named(parametersOf(type), Type.Object(parameters, strict))),
    { description: 'The parameters of the chosen `analysis_type`.' },
  ),
})

/** The parameters as they are returned: all of them, with the default or null for any that the request left out. */
export const AnsweredParameters = Type.Unsafe<KeptParameters | null>(
  Type.Union([
    ...algorithmEntries.map(([type, { parameters }]) =>
      named(`Used${parametersOf(type)}`, Type.Object(answered(parameters))),
    ),
    Type.Null(),
  ]),
)

/** Nested as in a request, so that a fault has the path of the request. */
const validators = new Map<AnalysisType, Validator>(
  algorithmEntries.map(([type, { parameters }]) => [
    type,
    validatorFor(Type.Object({ parameters: Type.Object(parameters, strict) }), 'body'),
  ]),
)

/**
 * Returns the parameters to store with a run. A type that is not executed for the application stores none, and accepts
 * those of `knn_graph`.
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
    Object.keys(algorithms[type].parameters).map((name) => [name, request.parameters[name] ?? null]),
  )
}

/**
 * Returns the permissions that the input of a run needs. A run that is not executed is checked as if it used vectors.
 */
export const needsOf = (type: AnalysisType, parameters: KeptParameters | null): Needs =>
  parameters === null ? needsOfVectors : algorithms[type].needs(parameters)

/** Returns the name of the schema, such as KnnGraphParameters. */
function parametersOf(type: AnalysisType): string {
  return `${type.replace(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase())}Parameters`
}

function answered(parameters: TProperties): TProperties {
  const one = (schema: TSchema): TSchema => {
    // The copy does not have the mark of an optional field.
    const copy = Type.Unsafe({ ...schema })
    return Type.IsOptional(schema) && !('default' in schema) ? orNull(copy) : copy
  }
  return Object.fromEntries(Object.entries(parameters).map(([name, schema]) => [name, one(schema)]))
}
