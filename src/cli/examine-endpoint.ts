import { EmbeddingError } from '../embedding/embedding-error.ts'
import { endpointEmbedder, type StoredProfile } from '../embedding/register-embedders.ts'
import { type Finding, failure, ok } from '../operator/examine.ts'
import type { Config } from '../settings/config.ts'

export type StoredProfiles = readonly StoredProfile[]

type EndpointSettings = Pick<Config, 'embeddingKey'> & {
  readonly embeddingUrl: string
  readonly embeddingModel: string
}

/** Sends one word to check that the embedding endpoint returns vectors that fit the stored ones. */
export async function examineEndpoint(settings: EndpointSettings, stored: StoredProfiles): Promise<Finding> {
  const embedder = endpointEmbedder(settings, stored, { attemptsMax: 1 })
  try {
    await embedder.embed(['word'], 'query')
    return ok(`the embedding endpoint answers, with vectors of ${embedder.dimensions} dimensions`)
  } catch (error) {
    if (!(error instanceof EmbeddingError)) throw error
    return failure(
      `the embedding endpoint cannot be used: ${error.message}`,
      'check that it runs, and that TIDEMARK_EMBEDDING_URL, TIDEMARK_EMBEDDING_MODEL and TIDEMARK_EMBEDDING_KEY are right; until then search uses only words, and new texts wait for their vectors',
    )
  } finally {
    await embedder.close()
  }
}
