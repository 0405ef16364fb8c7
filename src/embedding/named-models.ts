import { type Config, ConfigError } from '../config.ts'
import { type BuiltInModel, builtInModel, builtInModels } from './built-in-models.ts'

/**
 * What is built in when nothing else is said: every language, and for English, where the smaller model knows technical
 * texts better, the two together. How that was found: docs/ranking.md.
 */
const usualModels = [builtInModels.multilingualE5Small, builtInModels.bgeSmallEn]

/** The built-in models that the settings ask for, the one for all texts first; none where an endpoint is set. */
export function namedModels({
  embeddingUrl,
  embeddingModel,
}: Pick<Config, 'embeddingUrl' | 'embeddingModel'>): readonly BuiltInModel[] {
  if (embeddingUrl !== null) return []
  if (embeddingModel === null) return usualModels
  const known = Object.values(builtInModels).map(({ id }) => id)
  const names = embeddingModel.split(',')
  const models = names.map((name, i) => {
    const model = builtInModel(name)
    if (model === undefined) {
      throw fault(
        `names ${JSON.stringify(name)}, but without TIDEMARK_EMBEDDING_URL it must be a built-in model (${known.join(', ')}) or several of them, comma-separated, the one for all texts first`,
      )
    }
    if (names.indexOf(name) < i) throw fault(`names ${name} twice: once is enough`)
    return model
  })
  const forAll = models.find(({ languages }) => languages === null)
  if (forAll !== undefined && forAll !== models[0]) {
    throw fault(
      `names ${forAll.id} after ${models[0]!.id}: the first is for all texts, and that one knows all languages`,
    )
  }
  return models
}

const fault = (what: string): ConfigError => new ConfigError([`TIDEMARK_EMBEDDING_MODEL ${what}`])
