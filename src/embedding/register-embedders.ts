import type { PoolWatch } from '../threads/pool.ts'
import { BuiltInEmbedder } from './built-in-embedder.ts'
import { type BuiltInModel, builtInModel } from './built-in-models.ts'
import type { Embedder } from './embedder.ts'
import { HttpEmbedder, type HttpEmbedderOptions } from './http-embedder.ts'
import { namedModels } from './named-models.ts'

/** The port: the store's registry of embedding profiles. */
export interface ProfileRegistry {
  embeddingProfiles(): Promise<readonly StoredProfile[]>
  /** The first becomes the default. The others make additional vectors for texts in their languages. */
  register(profiles: readonly (StoredProfile & { readonly languages: readonly string[] | null })[]): Promise<void>
}

export interface StoredProfile {
  readonly profileId: string
  readonly provider: string
  readonly model: string
  readonly dimensions: number | null
}

export interface EmbeddingSettings {
  readonly embeddingUrl: string | null
  readonly embeddingModel: string | null
  readonly embeddingKey: string | null
}

export interface RegisteredEmbedders {
  /** The embedder of the default profile, which makes vectors for all texts. */
  readonly embedder: Embedder
  /** Embedders that make additional vectors for texts in their languages. */
  readonly besides: readonly Embedder[]
  /** Embedders of profiles that already have vectors. They answer queries until the default profile is complete. */
  readonly before: readonly Embedder[]
  /** Registers the dimensions of a remote model after the endpoint's first answer. */
  readonly registerDimensions: () => Promise<void>
}

/** Creates the instance's own embedders and registers them as its active profiles. A model is loaded on first use. */
export async function registerEmbedders(
  settings: EmbeddingSettings,
  registry: ProfileRegistry,
  watch: PoolWatch,
): Promise<RegisteredEmbedders> {
  const stored = await registry.embeddingProfiles()
  const { embedders, registerDimensions } =
    settings.embeddingUrl === null
      ? await builtIn(namedModels(settings), registry, watch)
      : await remote(settings, stored, registry)
  const [embedder, ...besides] = embedders
  // The built-in model of a profile always exists; an endpoint may no longer be set.
  const before = stored.flatMap(({ profileId, provider }) => {
    const known = embedders.find((one) => one.profileId === profileId)
    if (profileId === embedder!.profileId || provider !== 'builtin') return []
    const model = builtInModel(profileId)
    return known ?? (model === undefined ? [] : new BuiltInEmbedder(model, { watch }))
  })
  return { embedder: embedder!, besides, before, registerDimensions }
}

async function builtIn(models: readonly BuiltInModel[], registry: ProfileRegistry, watch: PoolWatch) {
  await registry.register(
    models.map(({ id, dimensions, languages }) => {
      return { profileId: id, provider: 'builtin', model: id, dimensions, languages }
    }),
  )
  return { embedders: models.map((model) => new BuiltInEmbedder(model, { watch })), registerDimensions: async () => {} }
}

/** Returns the embedder of an endpoint, with the dimensions of its stored vectors. */
export function endpointEmbedder(
  { embeddingUrl, embeddingModel, embeddingKey }: EmbeddingSettings,
  stored: readonly StoredProfile[],
  options: Pick<HttpEmbedderOptions, 'attemptsMax'> = {},
): HttpEmbedder {
  // Ids occur in addresses, so other characters become dashes.
  const profileId = embeddingModel!.replace(/[^A-Za-z0-9._:-]/g, '-')
  const dimensions = stored.find((one) => one.profileId === profileId)?.dimensions ?? null
  return new HttpEmbedder({
    ...options,
    profileId,
    url: embeddingUrl!,
    model: embeddingModel!,
    key: embeddingKey,
    dimensions,
  })
}

async function remote(settings: EmbeddingSettings, stored: readonly StoredProfile[], registry: ProfileRegistry) {
  const embedder = endpointEmbedder(settings, stored)
  const { profileId, model } = embedder
  const registered = { profileId, provider: 'http', model, languages: null }
  let { dimensions } = embedder
  await registry.register([{ ...registered, dimensions }])
  const registerDimensions = async (): Promise<void> => {
    if (dimensions !== null || embedder.dimensions === null) return
    await registry.register([{ ...registered, dimensions: embedder.dimensions }])
    dimensions = embedder.dimensions
  }
  return { embedders: [embedder], registerDimensions }
}
