import { type Config, ConfigError } from '../settings/config.ts'
import { type BuiltInModel, builtInModel, builtInModels } from './built-in-models.ts'

/**
 * The built-in models if none is named: the multilingual one for all texts, and for English texts also the English one,
 * because it knows technical texts better. docs/ranking.md has the measurements.
 */
const defaultModels = [builtInModels.multilingualE5Small, builtInModels.bgeSmallEn]

/** The built-in models that the settings name, the one for all texts first; none if an endpoint is set. */
export function namedModels({
  embeddingUrl,
  embeddingModel,
}: Pick<Config, 'embeddingUrl' | 'embeddingModel'>): readonly BuiltInModel[] {
  if (embeddingUrl !== null) return []
  if (embeddingModel === null) return defaultModels
  const known = Object.values(builtInModels).map(({ id }) => id)
  const names = embeddingModel.split(',')
  const models = names.map((name, i) => {
    const model = builtInModel(name)
    if (model === undefined) {
      throw fault(
        `names ${JSON.stringify(name)}, but without TIDEMARK_EMBEDDING_URL it must be a built-in model (${known.join(', ')}) or several of them, comma-separated, the one for all texts first`,
      )
    }
    if (names.indexOf(name) < i) throw fault(`names ${name} twice: name it once`)
    return model
  })
  const forAll = models.find(({ languages }) => languages === null)
  if (forAll !== undefined && forAll !== models[0]) {
    throw fault(`names ${forAll.id} after ${models[0]!.id}: put the model for all languages first`)
  }
  return models
}

const fault = (what: string): ConfigError => new ConfigError([`TIDEMARK_EMBEDDING_MODEL ${what}`])
