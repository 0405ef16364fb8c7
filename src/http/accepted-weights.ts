/** What a header like `Accept` names, in lower case, with how gladly it is taken: from 0, not at all, to 1. */
export function acceptedWeights(header: string): ReadonlyMap<string, number> {
  const weights = new Map<string, number>()
  for (const one of header.split(',')) {
    const [name = '', ...parameters] = one.split(';').map((part) => part.trim().toLowerCase())
    const weight = parameters.find((parameter) => parameter.startsWith('q='))
    // A weight that is no number is none.
    weights.set(name, weight === undefined ? 1 : Number(weight.slice(2)) || 0)
  }
  return weights
}
