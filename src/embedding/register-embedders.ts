import type { PoolWatch } from '../threads/pool.ts'
import { BuiltInEmbedder } from './built-in-embedder.ts'
import { type BuiltInModel, builtInModel } from './built-in-models.ts'
import type { Embedder } from './embedder.ts'
import { HttpEmbedder } from './http-embedder.ts'
import { namedModels } from './named-models.ts'

/** The port: where profiles are registered. */
export interface ProfileRegistry {
  embeddingProfiles(): Promise<readonly StoredProfile[]>
  /** The first becomes the default; vectors of the others are made besides, of texts in their languages. */
  register(profiles: readonly (StoredProfile & { readonly languages: readonly string[] | null })[]): Promise<void>
}

interface StoredProfile {
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
  /** Of the default profile: it makes vectors of all texts. */
  readonly embedder: Embedder
  /** They make vectors too, of texts in their languages. */
  readonly besides: readonly Embedder[]
  /** Of profiles whose vectors were made before: they can answer until the default one has all. */
  readonly before: readonly Embedder[]
  /** Registers the dimensions of a remote model when its endpoint has first answered. */
  readonly learn: () => Promise<void>
}

/** The instance's own embedders, registered as its active profiles. A model is loaded when it first has something to do. */
export async function registerEmbedders(
  settings: EmbeddingSettings,
  registry: ProfileRegistry,
  watch: PoolWatch,
): Promise<RegisteredEmbedders> {
  const stored = await registry.embeddingProfiles()
  const { embedders, learn } =
    settings.embeddingUrl === null
      ? await builtIn(namedModels(settings), registry, watch)
      : await remote(settings, stored, registry)
  const [embedder, ...besides] = embedders
  // The built-in model of a profile is always there; an endpoint that is no longer set is not.
  const before = stored.flatMap(({ profileId, provider }) => {
    const known = embedders.find((one) => one.profileId === profileId)
    if (profileId === embedder!.profileId || provider !== 'builtin') return []
    const model = builtInModel(profileId)
    return known ?? (model === undefined ? [] : new BuiltInEmbedder(model, { watch }))
  })
  return { embedder: embedder!, besides, before, learn }
}

async function builtIn(models: readonly BuiltInModel[], registry: ProfileRegistry, watch: PoolWatch) {
  await registry.register(
    models.map(({ id, dimensions, languages }) => {
      return { profileId: id, provider: 'builtin', model: id, dimensions, languages }
    }),
  )
  return { embedders: models.map((model) => new BuiltInEmbedder(model, { watch })), learn: async () => {} }
}

async function remote(settings: EmbeddingSettings, stored: readonly StoredProfile[], registry: ProfileRegistry) {
  const model = settings.embeddingModel!
  // The id stands in addresses: other characters than those of ids become dashes.
  const profileId = model.replace(/[^A-Za-z0-9._:-]/g, '-')
  const registered = { profileId, provider: 'http', model, languages: null }
  let dimensions = stored.find((one) => one.profileId === profileId)?.dimensions ?? null
  await registry.register([{ ...registered, dimensions }])
  const embedder = new HttpEmbedder({
    profileId,
    url: settings.embeddingUrl!,
    model,
    key: settings.embeddingKey,
    dimensions,
  })
  const learn = async (): Promise<void> => {
    if (dimensions !== null || embedder.dimensions === null) return
    await registry.register([{ ...registered, dimensions: embedder.dimensions }])
    dimensions = embedder.dimensions
  }
  return { embedders: [embedder], learn }
}
