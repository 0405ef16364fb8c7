/** What is fixed about the built-in model; apart from the model itself, whose module loads the native runtime. */
export const builtInProfile = {
  id: 'bge-small-en-v1.5',
  model: 'bge-small-en-v1.5',
  dimensions: 384,
  languages: ['en'],
  queryPrefix: 'Represent this sentence for searching relevant passages: ',
  directory: new URL('../../models/bge-small-en-v1.5/', import.meta.url),
} as const
