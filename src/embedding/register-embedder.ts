import type { PoolWatch } from '../threads/pool.ts'
import { BuiltInEmbedder } from './built-in-embedder.ts'
import { builtInModels } from './built-in-models.ts'
import type { Embedder } from './embedder.ts'
import { HttpEmbedder } from './http-embedder.ts'

/** The port: where profiles are registered. */
export interface ProfileRegistry {
  embeddingProfiles(): Promise<readonly { profileId: string; dimensions: number | null }[]>
  register(profile: { profileId: string; provider: string; model: string; dimensions: number | null }): Promise<void>
}

export interface EmbeddingSettings {
  readonly embeddingUrl: string | null
  readonly embeddingModel: string | null
  readonly embeddingKey: string | null
}

/**
 * The instance's own embedder, registered as its active default profile. A remote model's dimensions stay null until
 * its endpoint first answers; `learn` registers them then.
 */
export async function registerEmbedder(
  settings: EmbeddingSettings,
  registry: ProfileRegistry,
  watch: PoolWatch,
): Promise<{ embedder: Embedder; learn: () => Promise<void> }> {
  if (settings.embeddingUrl === null || settings.embeddingModel === null) {
    const embedder = new BuiltInEmbedder(builtInModels.bgeSmallEn, { watch })
    const { profileId, model, dimensions } = embedder
    await registry.register({ profileId, provider: 'builtin', model, dimensions })
    return { embedder, learn: async () => {} }
  }
  const model = settings.embeddingModel
  // The id stands in addresses: other characters than those of ids become dashes.
  const profileId = model.replace(/[^A-Za-z0-9._:-]/g, '-')
  const stored = (await registry.embeddingProfiles()).find((one) => one.profileId === profileId)
  const registered = { profileId, provider: 'http', model }
  let dimensions = stored?.dimensions ?? null
  await registry.register({ ...registered, dimensions })
  const embedder = new HttpEmbedder({
    profileId,
    url: settings.embeddingUrl,
    model,
    key: settings.embeddingKey,
    dimensions,
  })
  return {
    embedder,
    async learn() {
      if (dimensions !== null || embedder.dimensions === null) return
      await registry.register({ ...registered, dimensions: embedder.dimensions })
      dimensions = embedder.dimensions
    },
  }
}
